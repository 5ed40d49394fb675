/**
 * Which paths are memory files that a model may change by hand.
 *
 * Role: a path qualifies when it is spelt plainly, its real directory is the
 * project's real memory directory, its name is that of a memory, and what
 * stands there is a regular file of one name or nothing. Everything else is
 * left to the sandbox. Asked once more right before a file is written.
 */
import { basename, dirname, join, resolve } from 'node:path'
import { errnoOf } from '../errors.ts'
import { MEMORY_INDEX_FILE_NAME } from '../format/limits.ts'
import { localFileSystem } from '../store/file-system.ts'
import { isSafeMemoryFileName } from '../store/paths.ts'

/** A path that qualifies. */
export interface MemoryFile {
  /** As the model spelt it. */
  path: string
  fileName: string
  /** The same with the links of its directory resolved. */
  realPath: string
  exists: boolean
  isIndex: boolean
}

/**
 * A directory with its links resolved, down to where nothing exists yet.
 * @throws the system's error, except for a missing directory.
 */
async function realDirectory(path: string): Promise<string> {
  try {
    return await localFileSystem.realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error
    return join(await realDirectory(dirname(path)), basename(path))
  }
}

/** @returns whether a file is there, `undefined` when it is something that must not be touched. */
async function plainFileExists(path: string): Promise<boolean | undefined> {
  try {
    const stats = await localFileSystem.lstat(path)
    return stats.isFile() && stats.nlink === 1 ? true : undefined
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * @param path - as the model gave it.
 * @param root - the memory directory of the session's project; need not exist.
 * @param allowsIndex - whether `MEMORY.md` counts.
 * @returns the file, or `undefined` when the path does not qualify or cannot be looked at.
 */
export async function qualifyPath(
  path: string,
  root: string,
  allowsIndex: boolean,
): Promise<MemoryFile | undefined> {
  if (resolve(path) !== path) return undefined
  const fileName = basename(path)
  const isIndex = fileName === MEMORY_INDEX_FILE_NAME
  if (isIndex ? !allowsIndex : !isSafeMemoryFileName(fileName)) return undefined
  try {
    const directory = await realDirectory(dirname(path))
    if (directory !== (await realDirectory(root))) return undefined
    const realPath = join(directory, fileName)
    const exists = await plainFileExists(realPath)
    return exists === undefined ? undefined : { path, fileName, realPath, exists, isIndex }
  } catch {
    // What cannot be looked at is left to the sandbox.
    return undefined
  }
}
