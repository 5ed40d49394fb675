/**
 * Temp files, files moved aside and moved locks that a killed process left behind.
 *
 * Role: removes them under the lock, where no other transaction writes, once per
 * process and memory and after every orphaned lock; a directory of many files is
 * not listed at each save. What stands aside and is the only copy of a memory is
 * put back. Young temp files stay: a script may be writing with
 * `writeFileAtomic`, which takes no lock. What this process itself could not
 * remove or put back is tried again at each save.
 */
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../errors.ts'
import { asideAt, settleAside, settleAsides } from './aside.ts'
import type { StoreContext } from './context.ts'
import type { FileSystem } from './file-system.ts'
import type { Lock } from './lock.ts'
import { forgetLeftOver, isTemporaryName, leftOverIn } from './temporary-name.ts'
import { TRASH_DIRECTORY_NAME } from './trash.ts'

/** Memory directories that this process has swept. */
const swept = new Set<string>()

/**
 * Remove litter of a memory. Never throws: litter is harmless, and the save that
 * met it goes on; doctor names what stays.
 * @param lock - held.
 */
export async function sweepLitter(context: StoreContext, lock: Lock): Promise<void> {
  const { fileSystem, lockPath, paths } = context
  for (const path of leftOverIn(paths.root)) {
    const aside = asideAt(path)
    const tidying = aside === undefined ? fileSystem.unlink(path) : settleAside(context, aside)
    if (await isGone(tidying)) forgetLeftOver(path)
  }
  if (swept.has(paths.root) && !lock.replacedOrphan) return
  await sweepDirectory(context, paths.root, isTemporaryName)
  const unsettled = await settleAsides(context).catch(() => undefined)
  await sweepDirectory(context, join(paths.root, TRASH_DIRECTORY_NAME), isTemporaryName)
  // Moved locks, and the right to move them of a process that was killed meanwhile.
  const besideLock = `${basename(lockPath)}.`
  await sweepDirectory(context, dirname(lockPath), (name) => name.startsWith(besideLock))
  if (unsettled?.size === 0) swept.add(paths.root)
}

/** @param removal - a removal under way. */
async function isGone(removal: Promise<void>): Promise<boolean> {
  return removal.then(
    () => true,
    (error: unknown) => errnoOf(error) === 'ENOENT',
  )
}

/** @returns the names in a directory, none when a link stands in its place. */
async function realNames(directory: string, fileSystem: FileSystem): Promise<string[]> {
  const stats = await fileSystem.lstat(directory)
  return stats.isDirectory() ? fileSystem.readdir(directory) : []
}

async function sweepDirectory(
  { fileSystem, lockTimes }: StoreContext,
  directory: string,
  isLitter: (name: string) => boolean,
): Promise<void> {
  const names = await realNames(directory, fileSystem).catch(() => [])
  for (const name of names.filter(isLitter)) {
    const path = join(directory, name)
    try {
      const { mtimeMs } = await fileSystem.lstat(path)
      if (Date.now() - mtimeMs <= lockTimes.staleMs / 2) continue
      await fileSystem.rm(path, { recursive: true, force: true })
    } catch {
      // The next one may be removable.
    }
  }
}
