/**
 * Removing a file only if it still is the version that was read.
 *
 * Role: between the last look at the lock and a removal a process can sleep and
 * lose its lock; another writer's newer version must not go with it. So the file
 * is moved aside by a rename, which takes exactly one version, and looked at
 * there. A process that ends or a disk that fails in between leaves it aside:
 * the next transaction, or doctor, puts it back unless it has a copy or a
 * successor. Does not flush the directory.
 */
import { basename, join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { discardFile, moveIfAbsent } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import type { FileSystem } from './file-system.ts'
import { readStableBytes } from './stable-read.ts'
import { asidePathOf, fileNameOfAside, noteLeftOver } from './temporary-name.ts'
import { hasCopyInTrash, listTrash } from './trash.ts'

/**
 * Whether a file has these bytes.
 * @throws MemoryError when it cannot be read.
 */
export async function holds(path: string, bytes: Buffer, fileSystem: FileSystem): Promise<boolean> {
  const read = await readStableBytes(path, { fileSystem })
  return read?.bytes.equals(bytes) === true
}

/** Put a file back, unless its place is taken by something newer. */
async function putBack(aside: string, path: string, fileSystem: FileSystem): Promise<void> {
  if (await moveIfAbsent(aside, path, fileSystem)) return
  await discardFile({ target: path, temporaryPath: aside }, fileSystem)
}

/** The name is too long to move the file aside: look at it where it stands. */
async function removeInPlace(
  path: string,
  bytes: Buffer,
  fileSystem: FileSystem,
): Promise<boolean> {
  if (!(await holds(path, bytes, fileSystem))) return false
  await fileSystem.unlink(path)
  return true
}

/**
 * Remove one version of a file; visible, not yet durable.
 * @param path - absolute path; a file that is gone already counts as removed.
 * @param bytes - the version that is meant.
 * @returns `false` when another version stood there; it stands there still.
 * @throws the system's error or a MemoryError; the file is then as before, or kept aside when it
 *   could not be put back either: the message says so.
 */
export async function removeVersion(
  path: string,
  bytes: Buffer,
  fileSystem: FileSystem,
): Promise<boolean> {
  const aside = asidePathOf(path)
  try {
    await fileSystem.rename(path, aside)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true
    if (errnoOf(error) === 'ENAMETOOLONG') return removeInPlace(path, bytes, fileSystem)
    throw error
  }
  let failure: unknown
  try {
    const read = await readStableBytes(aside, { fileSystem })
    if (read === undefined) return true
    if (read.bytes.equals(bytes)) {
      await fileSystem.unlink(aside)
      return true
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true
    failure = error
  }
  try {
    await putBack(aside, path, fileSystem)
  } catch (error) {
    noteLeftOver(aside)
    throw keptAside(path, aside, error)
  }
  if (failure !== undefined) throw failure
  return false
}

function keptAside(path: string, aside: string, cause: unknown): MemoryError {
  const errno = errnoOf(cause)
  return new MemoryError(
    'WRITE_FAILED',
    `${path} was moved aside as ${basename(aside)} and could not be put back (${errno ?? 'unexpected error'}); doctor settles it`,
    { path, cause, ...(errno === undefined ? {} : { errno }) },
  )
}

/**
 * The files that stand aside in a memory directory.
 * @returns their names.
 * @throws the system's error.
 */
export async function namesAside({ fileSystem, paths }: StoreContext): Promise<string[]> {
  const names = await fileSystem.readdir(paths.root)
  return names.filter((name) => fileNameOfAside(name) !== undefined)
}

/**
 * Whether a file that stands aside is all that is left of its memory: nothing has its place, and no
 * identical copy is in the trash.
 * @throws MemoryError or the system's error when that cannot be told.
 */
export async function isOnlyCopy(context: StoreContext, name: string): Promise<boolean> {
  const { fileSystem, paths } = context
  const fileName = fileNameOfAside(name)
  if (fileName === undefined) return false
  try {
    await fileSystem.lstat(join(paths.root, fileName))
    return false
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  const read = await readStableBytes(join(paths.root, name), { fileSystem })
  if (read === undefined) return false
  return !(await hasCopyInTrash(context, await listTrash(context, 'all'), fileName, read.bytes))
}

/**
 * Put a file that stands aside back, or remove it when it is not needed. Under the lock.
 * @throws MemoryError or the system's error; it stands aside still.
 */
export async function settleAside(context: StoreContext, name: string): Promise<void> {
  const { fileSystem, paths } = context
  const path = join(paths.root, name)
  const fileName = fileNameOfAside(name)
  if (fileName !== undefined && (await isOnlyCopy(context, name))) {
    await putBack(path, join(paths.root, fileName), fileSystem)
  } else await fileSystem.unlink(path)
}
