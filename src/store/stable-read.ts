/**
 * Reading a memory file so that what comes back is one version of a regular
 * file, whole, or an error that says why not.
 *
 * Role: no-follow, non-blocking, bounded reads with the file's identity checked
 * before and after the read, on the open file: its name may meanwhile belong to
 * a newer version without harm. Does not retry for ever, does not decode with
 * replacement characters. The identity (`device, inode, size, mtime, ctime`) is
 * also what the writer compares just before it publishes.
 */
import { isUtf8 } from 'node:buffer'
import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { MemoryError, errnoOf } from '../errors.ts'
import { throwIfAborted } from './abort.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'

/** Largest file that is read, in bytes (5 MiB, the reference's limit). */
export const MEMORY_READ_MAX_BYTES = 5 * 1024 * 1024

/** How often a file that is written to under the reader is tried again; a replaced one needs no second try. */
const CHANGED_FILE_ATTEMPTS = 5

/** Open for reading without following a link at the end and without waiting for a FIFO's writer. */
export const SAFE_READ_FLAGS =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** What identifies one version of a file; equal text means the same version. */
export type FileIdentity = string

/** One version of a file. */
export interface StableBytes {
  bytes: Buffer
  identity: FileIdentity
  mtimeMs: number
  /** Permission bits. */
  mode: number
}

/** What a check after the read compares. */
type ReadStats = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs' | 'nlink'>

/** Options of {@link readStableBytes}. */
export interface StableReadOptions {
  fileSystem?: FileSystem
  signal?: AbortSignal | undefined
  /** Gives memory of at least so many bytes to read into; what is read is a view of it. */
  allocate?: (size: number) => Buffer
}

/**
 * The identity of a version.
 * @param stats - from `lstat` or `fstat` with `bigint: true`.
 */
export function fileIdentity(stats: Omit<ReadStats, 'nlink'>): FileIdentity {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

/** What stays the same when a file is renamed or gets another name: device and inode. */
export type Inode = string

/** @param stats - from `lstat` or `fstat` with `bigint: true`. */
export function inodeOf({ dev, ino }: Pick<ReadStats, 'dev' | 'ino'>): Inode {
  return `${dev}:${ino}`
}

/** @returns the device and inode in the identity of a version. */
export function inodeIn(identity: FileIdentity): Inode {
  return identity.split(':', 2).join(':')
}

/**
 * Whether an open file held still while it was read. One that was replaced by a
 * rename meanwhile did: only its link count and change time are others.
 * @param before - from `fstat` right after opening.
 * @param after - from `fstat` after the last byte was read.
 */
export function heldStill(before: ReadStats, after: ReadStats): boolean {
  if (fileIdentity(before) === fileIdentity(after)) return true
  const wasReplaced = before.nlink > 0n && after.nlink === 0n
  return wasReplaced && fileIdentity({ ...after, ctimeNs: before.ctimeNs }) === fileIdentity(before)
}

/**
 * Whether the file that was opened is the one that was looked at. Asked only
 * where opening may follow a link (Windows); elsewhere what was opened counts.
 */
export function isWhatWasSeen(seen: BigIntStats, opened: BigIntStats): boolean {
  return constants.O_NOFOLLOW !== undefined || fileIdentity(seen) === fileIdentity(opened)
}

/**
 * Refuse what must not be opened or is too large.
 * @throws MemoryError `UNSAFE_PATH` (link), `NOT_REGULAR_FILE`, `FILE_TOO_LARGE`.
 */
export function assertReadable(path: string, stats: BigIntStats): void {
  if (stats.isSymbolicLink()) {
    throw new MemoryError(
      'UNSAFE_PATH',
      `${path} is a symbolic link; links are not followed here`,
      {
        path,
      },
    )
  }
  if (!stats.isFile()) {
    throw new MemoryError('NOT_REGULAR_FILE', `${path} is not a regular file; move it away`, {
      path,
    })
  }
  if (stats.size > BigInt(MEMORY_READ_MAX_BYTES)) {
    throw new MemoryError(
      'FILE_TOO_LARGE',
      `${path} has ${stats.size} bytes, more than the ${MEMORY_READ_MAX_BYTES} that are read; make it smaller`,
      { path },
    )
  }
}

/** The error of a file that never stood still. */
export function changedError(path: string): MemoryError {
  return new MemoryError('FILE_CHANGED', `${path} keeps changing while it is read; try again`, {
    path,
  })
}

/**
 * The coded error of a failed read.
 * @param path - what was read.
 * @param error - what was thrown; coded errors and aborts pass unchanged.
 */
export function readError(path: string, error: unknown): unknown {
  if (error instanceof MemoryError || errnoOf(error) === undefined) return error
  const errno = errnoOf(error) as string
  if (errno === 'ABORT_ERR') return error
  if (errno === 'ELOOP') {
    return new MemoryError(
      'UNSAFE_PATH',
      `${path} is a symbolic link; links are not followed here`,
      {
        path,
        cause: error,
      },
    )
  }
  return new MemoryError(
    'READ_FAILED',
    `${path} cannot be read (${errno}); check its permissions and the disk`,
    {
      path,
      errno,
      cause: error,
    },
  )
}

/** @returns the file's bytes, one more than `size` when it has grown; fewer when it has shrunk. */
async function readBounded(
  handle: FileHandle,
  size: number,
  allocate: (size: number) => Buffer,
): Promise<Buffer> {
  const buffer = allocate(size + 1).subarray(0, size + 1)
  let length = 0
  let isMore = true
  while (isMore && length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
    length += bytesRead
    // Whether there is more after the expected size is told by the later look at the file.
    isMore = bytesRead > 0 && length < size
  }
  return buffer.subarray(0, length)
}

/** @returns one version, or `'changed'` when the file was written to meanwhile. */
async function readVersion(
  path: string,
  { fileSystem, allocate }: Required<Omit<StableReadOptions, 'signal'>>,
  seen: BigIntStats,
): Promise<StableBytes | 'changed'> {
  const handle = await fileSystem.open(path, SAFE_READ_FLAGS)
  try {
    const before = await handle.stat({ bigint: true })
    if (!isWhatWasSeen(seen, before)) return 'changed'
    assertReadable(path, before)
    const bytes = await readBounded(handle, Number(before.size), allocate)
    if (bytes.length !== Number(before.size)) return 'changed'
    if (!heldStill(before, await handle.stat({ bigint: true }))) return 'changed'
    return {
      bytes,
      identity: fileIdentity(before),
      mtimeMs: Number(before.mtimeNs / 1000n) / 1000,
      mode: Number(before.mode & 0o7777n),
    }
  } finally {
    await handle.close().catch(() => undefined)
  }
}

/**
 * Read one version of a file.
 * @param path - absolute path; never followed when it is a link.
 * @param options - file system and abort signal.
 * @returns the bytes, or `undefined` when there is no such file (`ENOENT` only).
 * @throws MemoryError `UNSAFE_PATH`, `NOT_REGULAR_FILE`, `FILE_TOO_LARGE`, `FILE_CHANGED`,
 *   `READ_FAILED`; an `AbortError` when aborted. The disk is never changed.
 */
export async function readStableBytes(
  path: string,
  {
    fileSystem = localFileSystem,
    signal,
    allocate = (size) => Buffer.allocUnsafe(size),
  }: StableReadOptions = {},
): Promise<StableBytes | undefined> {
  try {
    for (let attempt = 0; attempt < CHANGED_FILE_ATTEMPTS; attempt += 1) {
      throwIfAborted(signal)
      let seen: BigIntStats
      try {
        seen = await fileSystem.lstat(path, { bigint: true })
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return undefined
        throw error
      }
      assertReadable(path, seen)
      try {
        const read = await readVersion(path, { fileSystem, allocate }, seen)
        if (read !== 'changed') return read
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error
      }
    }
  } catch (error) {
    throw readError(path, error)
  }
  throw changedError(path)
}

/**
 * Decode text that must be UTF-8.
 * @param path - named in the error.
 * @param bytes - file content; a byte order mark stays in the text.
 * @throws MemoryError `NOT_UTF8` for other encodings and for NUL bytes (UTF-16 text has them).
 */
export function decodeUtf8(path: string, bytes: Buffer): string {
  assertUtf8(path, bytes)
  return bytes.toString('utf8')
}

/**
 * Assert that bytes are UTF-8 text without NUL.
 * @throws MemoryError `NOT_UTF8`.
 */
export function assertUtf8(path: string, bytes: Buffer): void {
  if (isUtf8(bytes) && !bytes.includes(0)) return
  throw new MemoryError('NOT_UTF8', `${path} is not UTF-8 text; convert it to UTF-8`, { path })
}

/**
 * Read one version of a memory file as text.
 * @param path - absolute path; a link is refused.
 * @param signal - stops before the next step; rejects with an `AbortError`.
 * @returns the text as it is on disk, `''` with `exists: false` when there is none; `mtimeMs` in
 *   milliseconds since the epoch (0 when absent).
 * @throws MemoryError as {@link readStableBytes}, and `NOT_UTF8`.
 */
export async function readMemoryFileStable(
  path: string,
  signal?: AbortSignal,
): Promise<{ content: string; exists: boolean; mtimeMs: number }> {
  const read = await readStableBytes(path, { signal })
  if (read === undefined) return { content: '', exists: false, mtimeMs: 0 }
  return { content: decodeUtf8(path, read.bytes), exists: true, mtimeMs: read.mtimeMs }
}
