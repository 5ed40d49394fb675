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

/** A directory may be used without the right to open it. */
const UNREADABLE = new Set(['EACCES', 'EPERM'])

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

/** A directory that can be flushed more than once. */
export interface OpenDirectory {
  /**
   * Flush it, so that names made, replaced or removed in it survive a power cut.
   * @throws the system's error, but not where the file system cannot flush directories.
   */
  sync: () => Promise<void>
  /** Never throws: nothing depends on it. */
  close: () => Promise<void>
}

/** Windows cannot flush directories. */
const UNFLUSHED: OpenDirectory = { sync: async () => {}, close: async () => {} }

/** Open a directory for flushing; the caller closes it. On Windows this does nothing. */
export async function openDirectory(path: string, fileSystem: FileSystem): Promise<OpenDirectory> {
  if (process.platform === 'win32') return UNFLUSHED
  const handle = await fileSystem.open(path, constants.O_RDONLY)
  return {
    sync: async () => {
      try {
        await handle.sync()
      } catch (error) {
        if (!UNSYNCABLE.has(errnoOf(error) ?? '')) throw error
      }
    },
    close: () => handle.close().catch(() => undefined),
  }
}

/**
 * Flush a directory once; see {@link OpenDirectory}.
 * @throws the system's error.
 */
export async function syncDirectory(path: string, fileSystem: FileSystem): Promise<void> {
  const directory = await openDirectory(path, fileSystem)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Flush the entry of a directory that was just made. When that fails the
 * directory goes again, else the next change would take its entry for durable.
 */
async function confirmNew(path: string, fileSystem: FileSystem): Promise<void> {
  try {
    await syncDirectory(dirname(path), fileSystem)
  } catch (error) {
    await fileSystem.rmdir(path).catch(() => undefined)
    throw error
  }
}

/** Flush the entry of a directory that somebody else made, maybe in a place that only they may read. */
async function confirmPresent(path: string, fileSystem: FileSystem): Promise<void> {
  try {
    await syncDirectory(dirname(path), fileSystem)
  } catch (error) {
    if (!UNREADABLE.has(errnoOf(error) ?? '')) throw error
  }
}

/** Make one directory and everything missing above it, each durable in its parent. */
async function makeDirectory(path: string, fileSystem: FileSystem): Promise<void> {
  try {
    await fileSystem.mkdir(path, { mode: NEW_DIRECTORY_MODE })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return confirmPresent(path, fileSystem)
    if (errno !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path), fileSystem)
    // A second ENOENT is the answer: the parent is a link to nowhere, or is being removed.
    await fileSystem.mkdir(path, { mode: NEW_DIRECTORY_MODE }).catch((cause: unknown) => {
      if (errnoOf(cause) !== 'EEXIST') throw cause
    })
  }
  await confirmNew(path, fileSystem)
}

/** Memory directories whose entries, and those of their parents, this process has flushed. */
const confirmed = new Set<string>()

/**
 * Make the memory directory with what is missing above it (mode 0700, modes of
 * existing ones kept) and check that no link stands from `projects` down. Existing
 * ones are flushed once per process: whoever made them may have been killed before.
 * @throws MemoryError `UNSAFE_PATH`, `WRITE_FAILED`; directories made so far stay.
 */
export async function ensureDirectories(root: string, fileSystem: FileSystem): Promise<void> {
  const directories = ownDirectories(root)
  // Of several failures the outermost is told, so that the same fault has the same message.
  const looks = await Promise.allSettled(
    directories.map((path) => isOwnDirectory(path, fileSystem)),
  )
  const failed = looks.find((look) => look.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  const exist = looks.every((look) => look.status === 'fulfilled' && look.value)
  if (exist && confirmed.has(root)) return
  for (const directory of directories) {
    try {
      await makeDirectory(directory, fileSystem)
    } catch (error) {
      throw writeError(directory, error)
    }
    await isOwnDirectory(directory, fileSystem)
  }
  confirmed.add(root)
}

async function isOwnDirectory(path: string, fileSystem: FileSystem): Promise<boolean> {
  try {
    return await isRealDirectory(path, fileSystem)
  } catch (error) {
    throw writeError(path, error)
  }
}
