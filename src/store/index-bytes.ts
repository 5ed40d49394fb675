/**
 * The index file as bytes under edit.
 *
 * Role: reads `MEMORY.md` as one version and hands it out as a latin1 view of
 * its bytes, in which all index syntax is ASCII: a line is replaced without
 * decoding the others, so bytes that are not ours cannot change. Publishing
 * checks that the file is still the version that was read.
 */
import { errnoOf } from '../errors.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, publishFile, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { MemoryError } from '../errors.ts'
import type { Lock } from './lock.ts'
import type { FileIdentity } from './stable-read.ts'
import { MEMORY_READ_MAX_BYTES, assertUtf8, fileIdentity, readStableBytes } from './stable-read.ts'

/** One version of the index. */
export interface IndexVersion {
  /** Latin1 view of the UTF-8 bytes; empty when there is no index yet. */
  text: string
  /** `undefined` when there is no index yet. */
  identity: FileIdentity | undefined
}

/**
 * Read the index for editing.
 * @throws MemoryError when it exists but cannot be edited safely (unreadable, too large, not UTF-8,
 *   a link, no regular file, changing); only a missing file means "no index yet".
 */
export async function readIndexVersion({ paths, fileSystem }: StoreContext): Promise<IndexVersion> {
  const read = await readStableBytes(paths.indexFilePath, { fileSystem })
  if (read === undefined) return { text: '', identity: undefined }
  assertUtf8(paths.indexFilePath, read.bytes)
  return { text: read.bytes.toString('latin1'), identity: read.identity }
}

async function isUnchanged(context: StoreContext, version: IndexVersion): Promise<boolean> {
  try {
    const stats = await context.fileSystem.lstat(context.paths.indexFilePath, { bigint: true })
    return fileIdentity(stats) === version.identity
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return version.identity === undefined
    throw error
  }
}

/**
 * Publish an edited index: visible, not yet durable in its directory.
 * @param base - the version that was edited.
 * @param text - the new content as a latin1 view.
 * @returns `false` when the lock was lost or the file is another version by now; nothing was changed.
 * @throws MemoryError; the index is as it was and no temp file is left.
 */
export async function publishIndex(
  context: StoreContext,
  lock: Lock,
  base: IndexVersion,
  text: string,
): Promise<boolean> {
  const { paths, fileSystem } = context
  if (text.length > MEMORY_READ_MAX_BYTES) {
    throw new MemoryError(
      'FILE_TOO_LARGE',
      `${paths.indexFilePath} would grow over ${MEMORY_READ_MAX_BYTES} bytes; remove old lines first`,
      { path: paths.indexFilePath },
    )
  }
  const staged: StagedFile = await stageFile(paths.indexFilePath, Buffer.from(text, 'latin1'), {
    fileSystem,
  })
  let isReady = false
  try {
    isReady = (await isUnchanged(context, base)) && (await lock.isHeld())
  } finally {
    if (!isReady) await discardFile(staged, fileSystem)
  }
  if (isReady) await publishFile(staged, fileSystem)
  return isReady
}
