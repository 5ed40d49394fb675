/**
 * The index file as bytes under edit.
 *
 * Role: reads `MEMORY.md` as one version and publishes another one, if the file
 * is still the version that was read and the lock still ours. Whoever edits it as
 * text gets a latin1 view of its bytes, in which all index syntax is ASCII: a
 * line is replaced without decoding the others, so bytes that are not ours
 * cannot change.
 */
import { MemoryError, errnoOf } from '../errors.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, isSweptAway, publishFile, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import type { Lock } from './lock.ts'
import type { FileIdentity, StableBytes } from './stable-read.ts'
import { MEMORY_READ_MAX_BYTES, assertUtf8, fileIdentity, readStableBytes } from './stable-read.ts'

/** One version of the index. */
export class IndexVersion {
  /** Empty when there is no index yet. */
  readonly bytes: Buffer
  /** `undefined` when there is no index yet. */
  readonly identity: FileIdentity | undefined
  /** Permission bits; `undefined` when there is no index yet. */
  readonly mode: number | undefined
  #text: string | undefined

  constructor(read: StableBytes | undefined) {
    this.bytes = read?.bytes ?? Buffer.alloc(0)
    this.identity = read?.identity
    this.mode = read?.mode
  }

  /** Latin1 view of the UTF-8 bytes; made at the first look, since it is as large as the index. */
  get text(): string {
    this.#text ??= this.bytes.toString('latin1')
    return this.#text
  }
}

/**
 * Read the index for editing.
 * @param allocate - see `StableReadOptions`; the version is a view of that memory.
 * @throws MemoryError when it exists but cannot be edited safely (unreadable, too large, not UTF-8,
 *   a link, no regular file, changing); only a missing file means "no index yet".
 */
export async function readIndexVersion(
  { paths, fileSystem }: StoreContext,
  allocate?: (size: number) => Buffer,
): Promise<IndexVersion> {
  const read = await readStableBytes(paths.indexFilePath, {
    fileSystem,
    ...(allocate === undefined ? {} : { allocate }),
  })
  if (read !== undefined) assertUtf8(paths.indexFilePath, read.bytes)
  return new IndexVersion(read)
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
 * Write and flush an edited index next to the present one.
 * @param base - the version that was edited.
 * @param pieces - the new content, in parts.
 * @returns what {@link publishStagedIndex} or `discardFile` needs.
 * @throws MemoryError `FILE_TOO_LARGE`, or as `stageFile`; no temp file is left.
 */
export async function stageIndex(
  { paths, fileSystem }: StoreContext,
  base: IndexVersion,
  pieces: readonly Uint8Array[],
): Promise<StagedFile> {
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (size > MEMORY_READ_MAX_BYTES) {
    throw new MemoryError(
      'FILE_TOO_LARGE',
      `${paths.indexFilePath} would grow over ${MEMORY_READ_MAX_BYTES} bytes; remove old lines first`,
      { path: paths.indexFilePath },
    )
  }
  return stageFile(paths.indexFilePath, pieces, { fileSystem, replaced: base })
}

/**
 * Publish a staged index: visible, not yet durable in its directory.
 * @param base - the version that was edited.
 * @returns `false` when the lock was lost or the file is another version by now; nothing was changed.
 * @throws MemoryError; the index is as it was. In every case the temp file is gone.
 */
export async function publishStagedIndex(
  context: StoreContext,
  lock: Lock,
  base: IndexVersion,
  staged: StagedFile,
): Promise<boolean> {
  let isReady = false
  try {
    const checks = await Promise.all([isUnchanged(context, base), lock.isHeld()])
    isReady = checks.every(Boolean)
  } finally {
    if (!isReady) await discardFile(staged, context.fileSystem)
  }
  if (!isReady) return false
  try {
    await publishFile(staged, context.fileSystem)
    return true
  } catch (error) {
    if (isSweptAway(error)) return false
    throw error
  }
}

/**
 * Publish an index that was edited as text: visible, not yet durable in its directory.
 * @param base - the version that was edited.
 * @param text - the new content as a latin1 view.
 * @returns as {@link publishStagedIndex}.
 * @throws as {@link stageIndex} and {@link publishStagedIndex}.
 */
export async function publishIndex(
  context: StoreContext,
  lock: Lock,
  base: IndexVersion,
  text: string,
): Promise<boolean> {
  const staged = await stageIndex(context, base, [Buffer.from(text, 'latin1')])
  return publishStagedIndex(context, lock, base, staged)
}
