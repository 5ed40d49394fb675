/**
 * A copy in the trash whose memory is being removed.
 *
 * Role: while a process sleeps and loses its lock, another one may undo what it
 * does and take its copy. So the copy is looked at before the file goes, and
 * dropped only while the file is seen to be there. A copy too many is harmless.
 */
import type { StoreContext } from './context.ts'
import type { Lock } from './lock.ts'
import { holds, sameFile } from './remove-version.ts'
import type { StableBytes } from './stable-read.ts'

/** Whether the copy is still there and the lock ours; a doubt is a no. */
export async function hasOurCopy(
  { fileSystem }: StoreContext,
  path: string,
  lock: Lock,
): Promise<boolean> {
  const isThere = await fileSystem.lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
  return isThere && (await lock.isHeld())
}

/**
 * Remove the copy of a memory that is still there: it would look like a forget to finish. Keeps it in
 * doubt. Never throws.
 */
export async function dropNeedlessCopy(
  { fileSystem }: StoreContext,
  path: string,
  { file, filePath }: { file: StableBytes; filePath: string },
  lock: Lock,
): Promise<void> {
  const isThere = await holds(filePath, sameFile(file), fileSystem).catch(() => false)
  if (!isThere || !(await lock.isHeld())) return
  await fileSystem.rm(path, { force: true }).catch(() => undefined)
}
