/**
 * The stores of one mounted plugin.
 *
 * Role: one store per memory directory, so that all sessions of a project share
 * its queue, and one place that ends them when the plugin is unloaded.
 */
import { MemoryError } from '../errors.ts'
import { ProjectMemoryStore } from '../store/store.ts'
import type { ProjectMemoryPaths } from '../types.ts'

/** How long unloading waits for a save in flight, in ms: the host ends a process after 5 s. */
export const CLOSE_TIMEOUT_MS = 5_000

/** Stores by memory directory. */
export class MemoryStores {
  readonly #stores = new Map<string, ProjectMemoryStore>()
  #isClosed = false

  /**
   * Take it just before the change: {@link close} waits only for what has reached a store.
   * @returns the store of a project, always the same one.
   * @throws MemoryError `CLOSED` after {@link close}.
   */
  of(paths: ProjectMemoryPaths): ProjectMemoryStore {
    if (this.#isClosed) {
      throw new MemoryError('CLOSED', 'project memory is shutting down; nothing was changed')
    }
    const existing = this.#stores.get(paths.root)
    if (existing !== undefined) return existing
    const store = new ProjectMemoryStore(paths)
    this.#stores.set(paths.root, store)
    return store
  }

  /** Refuse what is queued or comes later, and wait for what is in flight, at most {@link CLOSE_TIMEOUT_MS}. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ended = Promise.all([...this.#stores.values()].map((store) => store.close()))
    this.#stores.clear()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)
      timer.unref()
    })
    await Promise.race([ended, timeout])
    clearTimeout(timer)
  }
}
