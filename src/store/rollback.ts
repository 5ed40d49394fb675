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
import { discardFile, publishFile, publishIfAbsent, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { holds, removeVersion } from './remove-version.ts'
import type { StableBytes } from './stable-read.ts'

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
}

/** A version of a file; without a mode it becomes a new file's. */
export type FileVersion = Pick<StableBytes, 'bytes' | 'mtimeMs'> & { mode?: number }

/**
 * Stage a version with its time; where the time cannot be set it is the present one.
 * @throws as `stageFile`; no temp file is left.
 */
export async function stageVersion(
  filePath: string,
  { bytes, mode, mtimeMs }: FileVersion,
  fileSystem: FileSystem,
): Promise<StagedFile> {
  const staged = await stageFile(filePath, bytes, { fileSystem, replaced: { mode } })
  const seconds = mtimeMs / 1000
  await fileSystem.utimes(staged.temporaryPath, seconds, seconds).catch(() => undefined)
  return staged
}

/**
 * Make a file that is gone as it was, unless something stands there. Visible, not yet durable.
 * @returns `false` when something stood there: it stands there still.
 * @throws as `stageFile` and `publishIfAbsent`; nothing was made.
 */
export async function restoreFile(
  filePath: string,
  version: FileVersion,
  fileSystem: FileSystem,
): Promise<boolean> {
  return publishIfAbsent(await stageVersion(filePath, version, fileSystem), fileSystem)
}

/**
 * Put one visible file back; durable when the promise resolves.
 * @throws the system's error or a MemoryError; the file is then as the transaction wrote it, or kept
 *   aside as the message says.
 */
export async function putBack(file: PublishedFile, context: StoreContext): Promise<void> {
  const { fileSystem } = context
  const { content, filePath, inode, previous } = file
  const ours = { bytes: content, inode }
  if (previous === undefined) {
    if (await removeVersion(filePath, ours, fileSystem))
      await syncDirectory(dirname(filePath), fileSystem)
    return
  }
  const staged = await stageVersion(filePath, previous, fileSystem)
  let isOurs = false
  try {
    isOurs = await holds(filePath, ours, fileSystem)
  } finally {
    if (!isOurs) await discardFile(staged, fileSystem)
  }
  if (!isOurs) return
  await publishFile(staged, fileSystem)
  await syncDirectory(dirname(filePath), fileSystem)
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
  for (const file of visible) {
    try {
      await putBack(file, context)
    } catch (cause) {
      const reason = writeError(file.filePath, cause)
      left.push(reason instanceof MemoryError ? reason.message : file.filePath)
    }
  }
  if (visible.length === 0 || !(error instanceof Error)) return error
  if (!(error instanceof MemoryError) && left.length === 0) return error
  const outcome =
    left.length === 0
      ? 'the index was not updated and the memory files are as before'
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
