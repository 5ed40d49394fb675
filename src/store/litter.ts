/**
 * Temp files that a killed process left behind.
 *
 * Role: removes them under the lock, where no other transaction writes, once
 * per process and memory and after every orphaned lock; a directory of many
 * files is not listed at each save. Young ones stay: a script may be writing
 * with `writeFileAtomic`, which takes no lock.
 */
import { join } from 'node:path'
import { isTemporaryName } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import type { Lock } from './lock.ts'

/** Memory directories that this process has swept. */
const swept = new Set<string>()

/**
 * Remove left-over temp files of the memory directory. Never throws: litter is
 * harmless, and the save that met it goes on.
 */
export async function sweepTemporaryFiles(context: StoreContext, lock: Lock): Promise<void> {
  const { fileSystem, paths, lockTimes } = context
  if (swept.has(paths.root) && !lock.replacedOrphan) return
  swept.add(paths.root)
  try {
    for (const name of await fileSystem.readdir(paths.root)) {
      if (!isTemporaryName(name)) continue
      const path = join(paths.root, name)
      const { mtimeMs } = await fileSystem.lstat(path)
      if (Date.now() - mtimeMs > lockTimes.staleMs / 2) await fileSystem.unlink(path)
    }
  } catch {
    // Nothing depends on it; doctor names what stays.
  }
}
