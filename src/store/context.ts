/**
 * What every transaction of one memory needs to know.
 *
 * Role: the values that come in by the store's door, in one object. No behaviour.
 */
import type { ProjectMemoryPaths } from '../types.ts'
import type { FileSystem } from './file-system.ts'
import type { LockTimes } from './lock.ts'

/** Everything a transaction works with. */
export interface StoreContext {
  paths: ProjectMemoryPaths
  /** The lock folder, `<slug>-<hash>/memory.lock`: beside the memory, so that it is never scanned. */
  lockPath: string
  fileSystem: FileSystem
  lockTimes: LockTimes
}

/** Most file operations in flight at once; more only queue in the thread pool and use up descriptors. */
export const MAX_FILES_IN_FLIGHT = 16

/**
 * Run a step for each item, a bounded number at a time, results in item order.
 * The first rejection rejects the whole once the steps in flight have ended.
 */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  step: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await step(items[index] as Item)
    }
  }
  const workers = Array.from({ length: Math.min(MAX_FILES_IN_FLIGHT, items.length) }, work)
  const outcomes = await Promise.allSettled(workers)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return results
}
