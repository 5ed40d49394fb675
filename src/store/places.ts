/**
 * Whether directories are there, and a new file for an export.
 *
 * Role: the few disk questions that commands have about places other than the
 * memory itself.
 */
import { dirname, resolve } from 'node:path'
import { MemoryError } from '../errors.ts'
import { publishIfAbsent, stageFile, writeFileAtomic } from './atomic-write.ts'
import { syncDirectory, writeError } from './directories.ts'
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
 * @throws MemoryError `INVALID_ARGUMENT` when something of this name exists and may not be replaced, is
 *   a directory, or lies in none, or why it cannot be written; no half of it is left.
 */
export async function writeExportFile(
  path: string,
  content: string,
  mayReplace: boolean,
  fileSystem: FileSystem = localFileSystem,
): Promise<void> {
  if (await directoryExists(path, fileSystem)) {
    throw new MemoryError('INVALID_ARGUMENT', `${path} is a directory; name a file in it`, { path })
  }
  if (!(await directoryExists(dirname(path), fileSystem))) {
    throw new MemoryError('INVALID_ARGUMENT', `${dirname(path)} is no directory; make it first`, {
      path,
    })
  }
  if (mayReplace) return writeFileAtomic(path, content, undefined, fileSystem)
  const staged = await stageFile(path, content, { fileSystem, replaced: { mode: undefined } })
  if (!(await publishIfAbsent(staged, fileSystem))) {
    throw new MemoryError(
      'INVALID_ARGUMENT',
      `${path} exists and is not replaced; choose another name or give --force`,
      { path },
    )
  }
  try {
    await syncDirectory(dirname(path), fileSystem)
  } catch (error) {
    await fileSystem.unlink(path).catch(() => undefined)
    throw writeError(path, error)
  }
}
