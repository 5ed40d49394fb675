/**
 * Putting memory files back when their transaction cannot be finished.
 *
 * Role: a new file is removed, a replaced one gets its old bytes and time back,
 * both only while the file still holds what the transaction wrote: another
 * writer's version is left alone. The first error is the one that is reported;
 * failing to put back is added to its text.
 */
import { dirname } from 'node:path'
import { MemoryError } from '../errors.ts'
import { writeFileAtomic } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { StableBytes } from './stable-read.ts'
import { readStableBytes } from './stable-read.ts'

/** A memory file as a transaction writes it. */
export interface PublishedFile {
  filePath: string
  content: Buffer
  /** What stood there before; `undefined` for a new file. */
  previous: StableBytes | undefined
  /** Whether it was renamed into place. */
  isVisible: boolean
}

async function putBack(file: PublishedFile, { fileSystem }: StoreContext): Promise<void> {
  const present = await readStableBytes(file.filePath, { fileSystem })
  if (present === undefined || !present.bytes.equals(file.content)) return
  if (file.previous === undefined) {
    await fileSystem.unlink(file.filePath)
    await syncDirectory(dirname(file.filePath), fileSystem)
    return
  }
  await writeFileAtomic(file.filePath, file.previous.bytes, undefined, fileSystem)
  const seconds = file.previous.mtimeMs / 1000
  await fileSystem.utimes(file.filePath, seconds, seconds).catch(() => undefined)
}

/**
 * Put files back.
 * @param published - files of the failed transaction; those not visible need nothing.
 * @param error - why it failed.
 * @returns the error to report: `error` itself, or one with the same code whose message also says
 *   what became of the files. Never rejects.
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
  if (visible.length === 0 || !(error instanceof MemoryError)) return error
  const outcome =
    left.length === 0
      ? 'the index was not updated and the memory files are as before'
      : `the index was not updated, and the memory file could not be put back: ${left.join('; ')}`
  return new MemoryError(error.code, `${error.message}; ${outcome}`, {
    cause: error,
    ...(error.path === undefined ? {} : { path: error.path }),
    ...(error.errno === undefined ? {} : { errno: error.errno }),
  })
}
