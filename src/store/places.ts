/**
 * Whether directories are there, and a new file for an export.
 *
 * Role: the few disk questions that commands have about places other than the
 * memory itself.
 */
import { constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { writeFileAtomic } from './atomic-write.ts'
import { writeError } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import type { Environment } from './paths.ts'
import { resolveProjectMemoryPaths } from './paths.ts'

/** @returns whether a directory is there, links followed; `false` when it cannot be looked at. */
export async function directoryExists(
  path: string,
  fileSystem: FileSystem = localFileSystem,
): Promise<boolean> {
  try {
    return (await fileSystem.lstat(await fileSystem.realpath(path))).isDirectory()
  } catch {
    return false
  }
}

/**
 * The nearest directory above a path that has a project memory: sessions may
 * have been started there.
 * @param path - absolute path, itself not looked at.
 * @param env - environment with `DSH_HOME`.
 */
export async function memoryAbove(path: string, env: Environment): Promise<string | undefined> {
  for (let at = resolve(path); dirname(at) !== at; ) {
    at = dirname(at)
    if (await directoryExists(resolveProjectMemoryPaths(at, env).root)) return at
  }
  return undefined
}

/**
 * Write a file that a person asked for, mode 0600. Durable when the promise resolves.
 * @param path - absolute path.
 * @param mayReplace - whether a file of this name is replaced.
 * @throws MemoryError `INVALID_ARGUMENT` when something of this name exists and may not be replaced,
 *   or why it cannot be written; no half of it is left.
 */
export async function writeExportFile(
  path: string,
  content: string,
  mayReplace: boolean,
  fileSystem: FileSystem = localFileSystem,
): Promise<void> {
  if (!mayReplace) await claim(path, fileSystem)
  try {
    await writeFileAtomic(path, content, undefined, fileSystem)
  } catch (error) {
    if (!mayReplace) await fileSystem.unlink(path).catch(() => undefined)
    throw error
  }
}

/** Make the name ours as an empty file, so that nothing else of this name can be replaced. */
async function claim(path: string, fileSystem: FileSystem): Promise<void> {
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
    await (await fileSystem.open(path, flags, 0o600)).close()
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') {
      throw new MemoryError(
        'INVALID_ARGUMENT',
        `${path} exists and is not replaced; choose another name or give --force`,
        { path },
      )
    }
    throw writeError(path, error)
  }
}
