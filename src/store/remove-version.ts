/**
 * Removing a file only if it still is the version that was read.
 *
 * Role: between the last look at the lock and a removal a process can sleep and
 * lose its lock; another writer's newer version must not go with it. So the file
 * is moved aside by a rename, which takes exactly one version, and looked at
 * there. What is left aside is the business of `aside.ts`. Does not flush the
 * directory after a removal.
 */
import { basename, dirname } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { dropAside } from './aside.ts'
import type { StagedFile } from './atomic-write.ts'
import {
  discardFile,
  moveIfAbsent,
  publishFile,
  publishIfAbsent,
  withRetries,
} from './atomic-write.ts'
import type { FileSystem } from './file-system.ts'
import type { StableBytes } from './stable-read.ts'
import { inodeIn, readStableBytes } from './stable-read.ts'
import { asidePathOf, noteLeftOver } from './temporary-name.ts'

/** A version of a file; with an inode only that very file is meant, and no other of the same bytes. */
export interface Version {
  bytes: Buffer
  inode?: string | undefined
}

/** What stands at a path, compared with a version. */
type Sight = 'the version' | 'another version' | 'nothing'

async function look(path: string, version: Version, fileSystem: FileSystem): Promise<Sight> {
  const read = await readStableBytes(path, { fileSystem })
  if (read === undefined) return 'nothing'
  const isSameFile = version.inode === undefined || version.inode === inodeIn(read.identity)
  return isSameFile && read.bytes.equals(version.bytes) ? 'the version' : 'another version'
}

/** @returns a version of which only the very file is meant. */
export function sameFile({ bytes, identity }: StableBytes): Version {
  return { bytes, inode: inodeIn(identity) }
}

/**
 * Whether a file is a version.
 * @throws MemoryError when it cannot be read.
 */
export async function holds(
  path: string,
  version: Version,
  fileSystem: FileSystem,
): Promise<boolean> {
  return (await look(path, version, fileSystem)) === 'the version'
}

/** Options of {@link removeVersion}. */
export interface RemovalOptions {
  /** Takes the place of what is removed, unless something newer has. */
  replacement?: StagedFile
  /** Asked last, while the file stands aside and nobody can come to count on it: whether it may go. */
  mayGo?: () => Promise<boolean>
}

/**
 * Remove one version of a file; visible, not yet durable.
 * @param path - absolute path; a file that is gone already counts as removed.
 * @returns `false` when another version stood there or it may not go: it stands there still, or as
 *   whoever took the lock over has left it. Then nothing of a replacement is left.
 * @throws the system's error or a MemoryError; the file is then as before, or stands aside when it
 *   could not be put back either: the message says so.
 */
export async function removeVersion(
  path: string,
  version: Version,
  fileSystem: FileSystem,
  options: RemovalOptions = {},
): Promise<boolean> {
  try {
    return await moveOutOfTheWay(path, version, fileSystem, options)
  } finally {
    if (options.replacement !== undefined) await discardFile(options.replacement, fileSystem)
  }
}

async function moveOutOfTheWay(
  path: string,
  version: Version,
  fileSystem: FileSystem,
  { mayGo, replacement }: RemovalOptions,
): Promise<boolean> {
  const sight = await look(path, version, fileSystem)
  if (sight !== 'the version') return sight === 'nothing'
  const aside = asidePathOf(path)
  try {
    await withRetries(() => fileSystem.rename(path, aside))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true
    // The name is too long to be moved aside; only a hand gives such a one.
    if (errnoOf(error) !== 'ENAMETOOLONG') throw error
    if (mayGo !== undefined && !(await mayGo())) return false
    if (replacement === undefined) await fileSystem.unlink(path)
    else await publishFile(replacement, fileSystem)
    return true
  }
  let failure: unknown
  try {
    const isMeant = (await look(aside, version, fileSystem)) === 'the version'
    if (isMeant && (mayGo === undefined || (await mayGo()))) {
      await removeAside(aside, fileSystem, replacement)
      return true
    }
  } catch (error) {
    // Whoever took our lock over has settled it: all is to be decided anew.
    if (errnoOf(error) === 'ENOENT') return false
    failure = error
  }
  await putBack(aside, path, fileSystem)
  if (failure !== undefined) throw aboutFile(path, aside, failure)
  return false
}

/** Remove what stands aside; once something has taken its place its name is only litter. */
async function removeAside(
  aside: string,
  fileSystem: FileSystem,
  replacement: StagedFile | undefined,
): Promise<void> {
  const isReplaced = replacement !== undefined && (await publishIfAbsent(replacement, fileSystem))
  try {
    await withRetries(() => fileSystem.unlink(aside))
  } catch (error) {
    if (!isReplaced) throw error
    if (errnoOf(error) !== 'ENOENT') noteLeftOver(aside)
  }
}

/** Give a file its name back. One whose name is taken stays aside for the next change. */
async function putBack(aside: string, path: string, fileSystem: FileSystem): Promise<void> {
  let hasName: boolean
  try {
    hasName = await moveIfAbsent(aside, path, fileSystem)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return
    noteLeftOver(aside)
    throw leftAside(path, aside, error)
  }
  if (hasName) await dropAside(aside, dirname(path), fileSystem).catch(() => noteLeftOver(aside))
  else noteLeftOver(aside)
}

function leftAside(path: string, aside: string, cause: unknown): MemoryError {
  const errno = errnoOf(cause)
  return new MemoryError(
    'WRITE_FAILED',
    `${path} stands aside as ${basename(aside)}, since the disk did not let it return (${errno ?? 'unexpected error'}); run doctor fix`,
    { path, cause, ...(errno === undefined ? {} : { errno }) },
  )
}

/** The file is back: its error names it, and not the name that it had for a moment. */
function aboutFile(path: string, aside: string, error: unknown): unknown {
  if (!(error instanceof MemoryError)) return error
  return new MemoryError(error.code, error.message.replaceAll(aside, path), {
    path,
    cause: error,
    ...(error.errno === undefined ? {} : { errno: error.errno }),
  })
}
