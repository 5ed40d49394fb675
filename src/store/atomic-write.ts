/**
 * Replacing a file so that readers see the old bytes or the new ones, and a
 * power cut leaves one of the two.
 *
 * Role: temp file next to the target (exclusive, unpredictable name, no-follow)
 * -> write -> fsync -> rename -> directory fsync. There is no fallback that
 * writes into the target: on failure the old file is intact and the temp file
 * is gone. Staging and publishing are separate, so that a transaction can stage
 * several files and look at its lock in between.
 */
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryError, SymlinkWriteRefusedError, errnoOf } from '../errors.ts'
import { throwIfAborted } from './abort.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import { inodeOf } from './stable-read.ts'
import { noteLeftOver, temporaryPathOf } from './temporary-name.ts'

/** Mode of files that are made: the owner alone. */
const NEW_FILE_MODE = 0o600

const PERMISSION_BITS = 0o7777

/** Tries to find an unused temp name; with 96 random bits a second one is already unlikely. */
const TEMP_NAME_ATTEMPTS = 3

/** Waits between tries of a rename, in ms: virus scanners and indexers hold a file for a moment. */
const RENAME_RETRY_DELAYS_MS = [10, 20, 40, 80, 160, 320]

/** Errors of a rename that pass by themselves. */
const TRANSIENT_RENAME_ERRORS = new Set(['EPERM', 'EBUSY', 'EACCES'])

/** A written and flushed file that is not yet visible under its name. */
export interface StagedFile {
  target: string
  temporaryPath: string
  /** Device and inode, which it keeps when it is published. */
  inode: string
}

/** Options of {@link stageFile}. */
export interface StageOptions {
  fileSystem?: FileSystem
  signal?: AbortSignal | undefined
  /**
   * What the caller knows to stand at the target: a regular file of that mode, or nothing
   * (`undefined`). Without this option the target is looked at.
   */
  replaced?: { mode: number | undefined }
}

/** @returns the permission bits of the regular file to replace; `undefined` when there is none. */
async function targetMode(path: string, fileSystem: FileSystem): Promise<number | undefined> {
  try {
    const stats = await fileSystem.lstat(path)
    if (stats.isSymbolicLink()) throw new SymlinkWriteRefusedError(path)
    if (!stats.isFile()) {
      throw new MemoryError('NOT_REGULAR_FILE', `${path} is not a regular file; move it away`, {
        path,
      })
    }
    return stats.mode & PERMISSION_BITS
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function openTemporary(
  target: string,
  fileSystem: FileSystem,
): Promise<{ temporaryPath: string; handle: Awaited<ReturnType<FileSystem['open']>> }> {
  const flags =
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
  for (let attempt = 1; ; attempt += 1) {
    const temporaryPath = temporaryPathOf(target)
    try {
      return { temporaryPath, handle: await fileSystem.open(temporaryPath, flags, NEW_FILE_MODE) }
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || attempt === TEMP_NAME_ATTEMPTS) throw error
    }
  }
}

function piecesOf(content: string | Uint8Array | readonly Uint8Array[]): readonly Uint8Array[] {
  if (typeof content === 'string') return [Buffer.from(content, 'utf8')]
  return content instanceof Uint8Array ? [content] : content
}

/** Write all pieces one after the other, in as few calls as the system allows. */
async function writePieces(
  handle: Awaited<ReturnType<FileSystem['open']>>,
  pieces: readonly Uint8Array[],
): Promise<void> {
  let left = pieces.filter((piece) => piece.length > 0)
  while (left.length > 0) {
    let { bytesWritten } = await handle.writev(left)
    if (bytesWritten === 0) throw new TypeError('the system accepted a write of nothing')
    left = left.flatMap((piece) => {
      const rest = piece.subarray(Math.min(bytesWritten, piece.length))
      bytesWritten -= piece.length - rest.length
      return rest.length > 0 ? [rest] : []
    })
  }
}

/**
 * Write and flush a temp file next to its target.
 * @param target - absolute path of the file to replace or make; its directory must exist.
 * @param content - bytes, also in pieces, or text written as UTF-8.
 * @returns what {@link publishFile} or {@link discardFile} needs. The target is untouched.
 * @throws SymlinkWriteRefusedError, MemoryError `NOT_REGULAR_FILE`, `WRITE_FAILED`, or an
 *   `AbortError`; no temp file is left.
 */
export async function stageFile(
  target: string,
  content: string | Uint8Array | readonly Uint8Array[],
  { fileSystem = localFileSystem, signal, replaced }: StageOptions = {},
): Promise<StagedFile> {
  throwIfAborted(signal)
  let staged: StagedFile | undefined
  try {
    const { mode } = replaced ?? { mode: await targetMode(target, fileSystem) }
    const { temporaryPath, handle } = await openTemporary(target, fileSystem)
    staged = { target, temporaryPath, inode: '' }
    try {
      await writePieces(handle, piecesOf(content))
      if (mode !== undefined && mode !== NEW_FILE_MODE) await handle.chmod(mode)
      await handle.sync()
      staged.inode = inodeOf(await handle.stat({ bigint: true }))
    } catch (error) {
      await handle.close().catch(() => undefined)
      throw error
    }
    await handle.close()
    throwIfAborted(signal)
    return staged
  } catch (error) {
    if (staged !== undefined) await discardFile(staged, fileSystem)
    throw writeError(target, error)
  }
}

/** Remove a staged file. One that cannot be removed is noted for the next transaction. Never throws. */
export async function discardFile(
  { temporaryPath }: Pick<StagedFile, 'temporaryPath'>,
  fileSystem: FileSystem = localFileSystem,
): Promise<void> {
  try {
    await fileSystem.unlink(temporaryPath)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') noteLeftOver(temporaryPath)
  }
}

/**
 * Make a call that moves or removes a name, again as long as something holds the file for a moment.
 * @throws the last error.
 */
export async function withRetries(call: () => Promise<void>): Promise<void> {
  for (const delayMs of [...RENAME_RETRY_DELAYS_MS, undefined]) {
    try {
      await call()
      return
    } catch (error) {
      if (delayMs === undefined || !TRANSIENT_RENAME_ERRORS.has(errnoOf(error) ?? '')) throw error
      await delay(delayMs)
    }
  }
}

/**
 * Whether publishing failed because the temp file was gone: whoever took an
 * orphaned lock over has removed it as litter, so the lock is not ours any more.
 * @param error - from {@link publishFile}.
 */
export function isSweptAway(error: unknown): boolean {
  return error instanceof MemoryError && error.errno === 'ENOENT'
}

/**
 * Make a staged file visible under its name. Visible, not yet durable: the
 * directory has to be flushed, see {@link syncDirectory}.
 * @throws MemoryError `WRITE_FAILED`; the target is as before, the temp file is gone.
 */
export async function publishFile(
  staged: StagedFile,
  fileSystem: FileSystem = localFileSystem,
): Promise<void> {
  try {
    await withRetries(() => fileSystem.rename(staged.temporaryPath, staged.target))
  } catch (error) {
    await discardFile(staged, fileSystem)
    throw writeError(staged.target, error)
  }
}

async function standsThere(path: string, fileSystem: FileSystem): Promise<boolean> {
  try {
    await fileSystem.lstat(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * Give a file another name unless something has that name. Visible, not yet durable. The old name
 * stays where there are hard links; the caller drops it.
 * @returns `false` when something stood there; it stands there still.
 * @throws the system's error; nothing was changed.
 */
export async function moveIfAbsent(
  from: string,
  to: string,
  fileSystem: FileSystem,
): Promise<boolean> {
  try {
    await fileSystem.link(from, to)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    if (errnoOf(error) === 'ENOENT') throw error
  }
  // Systems say in many ways that they have no hard links. Another writer may come in between here.
  if (await standsThere(to, fileSystem)) return false
  await withRetries(() => fileSystem.rename(from, to))
  return true
}

/**
 * Make a staged file visible under its name unless something stands there. Visible, not yet durable.
 * @returns `false` when something stood there: it stands there still. The temp file is gone either way.
 * @throws MemoryError `WRITE_FAILED`; nothing was made, the temp file is gone.
 */
export async function publishIfAbsent(
  staged: StagedFile,
  fileSystem: FileSystem = localFileSystem,
): Promise<boolean> {
  try {
    return await moveIfAbsent(staged.temporaryPath, staged.target, fileSystem)
  } catch (error) {
    throw writeError(staged.target, error)
  } finally {
    await discardFile(staged, fileSystem)
  }
}

/**
 * Replace or make one file. When the promise resolves the new content is durable.
 * @param path - absolute path; its directory must exist. A link is refused.
 * @param content - bytes, or text written as UTF-8.
 * @param signal - stops before the rename; rejects with an `AbortError`.
 * @throws as {@link stageFile} and {@link publishFile}; the old file is intact and no temp file is
 *   left, except that a failing directory flush leaves the new content visible.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  signal?: AbortSignal,
  fileSystem: FileSystem = localFileSystem,
): Promise<void> {
  const staged = await stageFile(path, content, { fileSystem, signal })
  await publishFile(staged, fileSystem)
  try {
    await syncDirectory(dirname(path), fileSystem)
  } catch (error) {
    throw writeError(path, error)
  }
}
