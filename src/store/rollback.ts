/**
 * Putting memory files back when their transaction cannot be finished.
 *
 * Role: a new file is removed, a replaced one gets its old bytes and time back,
 * both only while the file still holds what the transaction wrote: another
 * writer's version is left alone. The comparison comes last, right before the
 * step that cannot be undone. The first error is the one that is reported;
 * failing to put back is added to its text.
 */
import { dirname } from 'node:path'
import { MemoryError } from '../errors.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, publishIfAbsent, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { holds, removeVersion } from './remove-version.ts'
import type { StableBytes } from './stable-read.ts'
import { inodeOf } from './stable-read.ts'

/** A memory file as a transaction writes it. */
export interface PublishedFile {
  filePath: string
  content: Buffer
  /** Of the file that was published: an equal one of another writer is not ours. */
  inode: string | undefined
  /** What stood there before; `undefined` for a new file. */
  previous: StableBytes | undefined
  /** Whether it was renamed into place. */
  isVisible: boolean
  /** See `RemovalOptions`. */
  mayGo?: () => Promise<boolean>
}

/** A version of a file; without a mode it becomes a new file's. */
export type FileVersion = Pick<StableBytes, 'bytes' | 'mtimeMs'> & { mode?: number }

function stageVersion(
  filePath: string,
  { bytes, mode }: FileVersion,
  fileSystem: FileSystem,
): Promise<StagedFile> {
  return stageFile(filePath, bytes, { fileSystem, replaced: { mode } })
}

/** Give a file that was just published its time, if it can be set and nobody has replaced it since. */
async function setTime(
  { inode, target }: StagedFile,
  { mtimeMs }: FileVersion,
  fileSystem: FileSystem,
): Promise<void> {
  try {
    if (inodeOf(await fileSystem.lstat(target, { bigint: true })) !== inode) return
    const seconds = mtimeMs / 1000
    await fileSystem.utimes(target, seconds, seconds)
  } catch {
    // The present time is only less exact.
  }
}

/**
 * Make a file that is gone as it was, with its time, unless something stands there. Visible, not yet
 * durable.
 * @param mayPublish - asked right before.
 * @returns the new file; `undefined` when something stood there, which stands there still, or it may
 *   not.
 * @throws as `stageFile` and `publishIfAbsent`; nothing was made.
 */
export async function restoreFile(
  filePath: string,
  version: FileVersion,
  fileSystem: FileSystem,
  mayPublish?: () => Promise<boolean>,
): Promise<StagedFile | undefined> {
  const staged = await stageVersion(filePath, version, fileSystem)
  if (mayPublish !== undefined && !(await mayPublish())) {
    await discardFile(staged, fileSystem)
    return undefined
  }
  if (!(await publishIfAbsent(staged, fileSystem))) return undefined
  await setTime(staged, version, fileSystem)
  return staged
}

/** Tries to remove a file that others put back meanwhile. */
const REMOVAL_ATTEMPTS = 3

/**
 * Put one visible file back.
 * @returns whether that is durable.
 * @throws the system's error or a MemoryError; the file is then as the transaction wrote it, or kept
 *   aside as the message says.
 */
export async function putBack(
  { content, filePath, inode, mayGo, previous }: PublishedFile,
  { fileSystem }: StoreContext,
): Promise<boolean> {
  const ours = { bytes: content, inode }
  let isGone = false
  for (let left = REMOVAL_ATTEMPTS; left > 0 && !isGone; left -= 1) {
    const replacement = previous && (await stageVersion(filePath, previous, fileSystem))
    const options = { ...(replacement && { replacement }), ...(mayGo && { mayGo }) }
    isGone = await removeVersion(filePath, ours, fileSystem, options)
    if (!isGone && !(await holds(filePath, ours, fileSystem))) return true
    if (isGone && replacement && previous) await setTime(replacement, previous, fileSystem)
  }
  if (!isGone) {
    throw new MemoryError('LOCK_LOST', `${filePath} stays, as another process may count on it`, {
      path: filePath,
    })
  }
  try {
    await syncDirectory(dirname(filePath), fileSystem)
    return true
  } catch {
    return false
  }
}

/**
 * Put files back.
 * @param published - files of the failed transaction; those not visible need nothing.
 * @param error - why it failed.
 * @returns the error to report: `error` itself, or one with the same code (an abort keeps its name)
 *   whose message also says what became of the files. Never rejects.
 */
export async function rollBack(
  context: StoreContext,
  published: readonly PublishedFile[],
  error: unknown,
): Promise<unknown> {
  const visible = published.filter((file) => file.isVisible)
  const left: string[] = []
  let isDurable = true
  for (const file of visible) {
    try {
      if (!(await putBack(file, context))) isDurable = false
    } catch (cause) {
      const reason = writeError(file.filePath, cause)
      left.push(reason instanceof MemoryError ? reason.message : file.filePath)
    }
  }
  if (visible.length === 0 || !(error instanceof Error)) return error
  if (!(error instanceof MemoryError) && left.length === 0) return error
  const doubt = isDurable ? '' : ', but that could not be confirmed'
  const outcome =
    left.length === 0
      ? `the index was not updated and the memory files are as before${doubt}`
      : `the index was not updated, and the memory file could not be put back: ${left.join('; ')}`
  return withOutcome(error, outcome)
}

/**
 * @param outcome - what became of the memory, added to the message.
 * @returns an error of the same code and name.
 */
export function withOutcome(error: Error, outcome: string): Error {
  const message = `${error.message}; ${outcome}`
  if (!(error instanceof MemoryError)) {
    const reported = new Error(message, { cause: error })
    reported.name = error.name
    return reported
  }
  return new MemoryError(error.code, message, {
    cause: error,
    ...(error.path === undefined ? {} : { path: error.path }),
    ...(error.errno === undefined ? {} : { errno: error.errno }),
  })
}
