/**
 * The directories of a memory: checked against links, made when missing.
 *
 * Role: from `projects` down every directory must be a real one, else a link
 * planted there would redirect reads and writes. `DSH_HOME` and `memories`
 * above may be links. Does not remove anything.
 */
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import type { FileSystem } from './file-system.ts'

/** Mode of directories that are made: the owner alone. */
const NEW_DIRECTORY_MODE = 0o700

/** Directory entries cannot be flushed on these systems or file systems; the rename stands all the same. */
const UNSYNCABLE = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/**
 * The coded error of a failed change.
 * @param path - what was being written.
 * @param error - what was thrown; coded errors and errors without a system code pass unchanged.
 */
export function writeError(path: string, error: unknown): unknown {
  const errno = errnoOf(error)
  if (error instanceof MemoryError || errno === undefined || errno === 'ABORT_ERR') return error
  return new MemoryError(
    'WRITE_FAILED',
    `${path} cannot be written (${errno}); check free space, permissions and the disk`,
    { path, errno, cause: error },
  )
}

/**
 * The directories that must not be links, outermost first.
 * @param root - the memory directory, `<…>/projects/<slug>-<hash>/memory`.
 */
function ownDirectories(root: string): [projects: string, project: string, memory: string] {
  return [dirname(dirname(root)), dirname(root), root]
}

/** @returns whether the directory exists; throws when something else stands there. */
async function isRealDirectory(path: string, fileSystem: FileSystem): Promise<boolean> {
  try {
    const stats = await fileSystem.lstat(path)
    if (stats.isDirectory()) return true
    const what = stats.isSymbolicLink() ? 'a symbolic link' : 'not a directory'
    throw new MemoryError('UNSAFE_PATH', `${path} is ${what}; put a real directory there`, { path })
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * Check that the directories down to the memory directory are real ones.
 * @returns whether the memory directory exists.
 * @throws MemoryError `UNSAFE_PATH` when one of them is a link or no directory.
 */
export async function checkDirectories(root: string, fileSystem: FileSystem): Promise<boolean> {
  for (const directory of ownDirectories(root)) {
    if (!(await isRealDirectory(directory, fileSystem))) return false
  }
  return true
}

/**
 * Flush a directory, so that names made, replaced or removed in it survive a power cut.
 * Does nothing on Windows, where directories cannot be flushed.
 * @throws the system's error, but not where the file system cannot flush directories.
 */
export async function syncDirectory(path: string, fileSystem: FileSystem): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await fileSystem.open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } catch (error) {
    if (!UNSYNCABLE.has(errnoOf(error) ?? '')) throw error
  } finally {
    await handle.close()
  }
}

/** Make one directory and everything missing above it, each durable in its parent. */
async function makeDirectory(path: string, fileSystem: FileSystem): Promise<void> {
  try {
    await fileSystem.mkdir(path, { mode: NEW_DIRECTORY_MODE })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return
    if (errno !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path), fileSystem)
    // A second ENOENT is the answer: the parent is a link to nowhere, or is being removed.
    await fileSystem.mkdir(path, { mode: NEW_DIRECTORY_MODE }).catch((cause: unknown) => {
      if (errnoOf(cause) !== 'EEXIST') throw cause
    })
  }
  await syncDirectory(dirname(path), fileSystem)
}

/**
 * Make the memory directory with what is missing above it (mode 0700, modes of
 * existing ones kept) and check that no link stands from `projects` down.
 * @throws MemoryError `UNSAFE_PATH`, `WRITE_FAILED`; directories made so far stay.
 */
export async function ensureDirectories(root: string, fileSystem: FileSystem): Promise<void> {
  const directories = ownDirectories(root)
  const exist = await Promise.all(directories.map((path) => isOwnDirectory(path, fileSystem)))
  if (exist.every(Boolean)) return
  for (const directory of directories) {
    try {
      await makeDirectory(directory, fileSystem)
    } catch (error) {
      throw writeError(directory, error)
    }
    await isOwnDirectory(directory, fileSystem)
  }
}

async function isOwnDirectory(path: string, fileSystem: FileSystem): Promise<boolean> {
  try {
    return await isRealDirectory(path, fileSystem)
  } catch (error) {
    throw writeError(path, error)
  }
}
