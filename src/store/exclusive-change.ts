/**
 * A change of memory files that somebody else makes.
 *
 * Role: the host writes a file that the model edits by hand; this gives it the
 * memory's lock for as long, the directory to write into, and the directory
 * flush that the host's writer leaves out. Does not look at what is changed.
 */
import type { StoreContext } from './context.ts'
import { ensureDirectories, syncDirectory, writeError } from './directories.ts'
import { runLocked } from './locked-change.ts'

/**
 * Run a change under the lock. What it wrote into the memory directory is
 * durable when the promise resolves, provided that it flushed the files itself.
 * @param change - run once, with the directory in place; must publish each file in one step, since
 *   the lock may be lost to a process that took this one for dead.
 * @param signal - ends waiting for the lock with an `AbortError`.
 * @returns what `change` gives.
 * @throws MemoryError `UNSAFE_PATH`, `LOCK_TIMEOUT`, `WRITE_FAILED`, or what `change` throws; after a
 *   `WRITE_FAILED` of the flush the change is visible.
 */
export async function runExclusively<T>(
  context: StoreContext,
  change: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { fileSystem, paths } = context
  await ensureDirectories(paths.root, fileSystem)
  const attempt = async (): Promise<{ isDone: true; value: T }> => {
    // Once more under the lock: the wait may have been long.
    await ensureDirectories(paths.root, fileSystem)
    const value = await change()
    try {
      await syncDirectory(paths.root, fileSystem)
    } catch (error) {
      throw writeError(paths.root, error)
    }
    return { isDone: true, value }
  }
  return runLocked(context, attempt, { signal })
}
