/**
 * Removing a file only if it still is the version that was read.
 *
 * Role: between the last look at the lock and a removal a process can sleep and
 * lose its lock; another writer's newer version must not go with it. So the file
 * is moved aside by a rename, which takes exactly one version, and looked at
 * there. Does not flush the directory.
 */
import { errnoOf } from '../errors.ts'
import { discardFile } from './atomic-write.ts'
import type { FileSystem } from './file-system.ts'
import { readStableBytes } from './stable-read.ts'
import { temporaryPathOf } from './temporary-name.ts'

/** Put what was moved aside back, unless its place is taken by something newer. */
async function putBack(moved: string, path: string, fileSystem: FileSystem): Promise<void> {
  try {
    await fileSystem.lstat(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    await fileSystem.rename(moved, path)
    return
  }
  await discardFile({ target: path, temporaryPath: moved }, fileSystem)
}

/**
 * Remove one version of a file; visible, not yet durable.
 * @param path - absolute path; a file that is gone already counts as removed.
 * @param bytes - the version that is meant.
 * @returns `false` when another version stood there; it stands there still.
 * @throws the system's error or a MemoryError; the file is then as before, or under a temp name when
 *   it could not be put back either.
 */
export async function removeVersion(
  path: string,
  bytes: Buffer,
  fileSystem: FileSystem,
): Promise<boolean> {
  const moved = temporaryPathOf(path)
  try {
    await fileSystem.rename(path, moved)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true
    throw error
  }
  let isMeant = false
  try {
    const read = await readStableBytes(moved, { fileSystem })
    isMeant = read === undefined || read.bytes.equals(bytes)
  } finally {
    if (!isMeant) await putBack(moved, path, fileSystem)
  }
  if (isMeant) await discardFile({ target: path, temporaryPath: moved }, fileSystem)
  return isMeant
}
