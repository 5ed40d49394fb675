/**
 * The one error type of this package.
 *
 * Role: every failure that a caller may act on carries a stable `code`; nothing
 * routes on message text. Messages are one line, name the field or path, say
 * what to do, and never quote memory content. Does not log, does not format
 * stacks. A mistake of our own (a broken invariant) stays a plain `TypeError`.
 */

/**
 * Closed set of failure codes.
 *
 * - `INVALID_ARGUMENT`: a caller's value is wrong; nothing was touched.
 * - `INVALID_CONFIG`: plugin configuration is wrong; the plugin did not start.
 * - `UNSAFE_PATH`: a path leaves the memory directory or runs through a link.
 * - `SYMLINK_WRITE_REFUSED`: the write target itself is a symbolic link.
 * - `NOT_REGULAR_FILE`: a directory, FIFO, device or socket stands in a file's place.
 * - `FILE_TOO_LARGE`: more bytes than the read limit.
 * - `NOT_UTF8`: the bytes are not UTF-8 text (or hold NUL).
 * - `FILE_CHANGED`: the file changed while it was being read or before publishing.
 * - `LOCK_TIMEOUT`: another process kept the lock for the whole waiting time.
 * - `LOCK_LOST`: the lock was taken over and retries were used up.
 * - `READ_FAILED` / `WRITE_FAILED`: the operating system refused; `errno` says why.
 * - `READ_ONLY`: the session's sandbox mode forbids changes.
 * - `NOT_FOUND`: no such memory.
 * - `CLOSED`: the store was shut down.
 */
export type MemoryErrorCode =
  | 'INVALID_ARGUMENT'
  | 'INVALID_CONFIG'
  | 'UNSAFE_PATH'
  | 'SYMLINK_WRITE_REFUSED'
  | 'NOT_REGULAR_FILE'
  | 'FILE_TOO_LARGE'
  | 'NOT_UTF8'
  | 'FILE_CHANGED'
  | 'LOCK_TIMEOUT'
  | 'LOCK_LOST'
  | 'READ_FAILED'
  | 'WRITE_FAILED'
  | 'READ_ONLY'
  | 'NOT_FOUND'
  | 'CLOSED'

/** Extra facts of a {@link MemoryError}. */
export interface MemoryErrorOptions {
  /** The underlying error, kept for diagnostics and never shown to the model. */
  cause?: unknown
  /** Absolute path the failure is about. */
  path?: string
  /** Operating-system code such as `ENOSPC`, when there was one. */
  errno?: string
}

/** An expected failure with a stable {@link MemoryErrorCode}. */
export class MemoryError<Code extends MemoryErrorCode = MemoryErrorCode> extends Error {
  override name = 'MemoryError'
  readonly code: Code
  readonly path: string | undefined
  readonly errno: string | undefined

  /**
   * @param code - stable failure code.
   * @param message - one line without line breaks; names the field or path.
   * @param options - cause, path and errno.
   */
  constructor(code: Code, message: string, options: MemoryErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.path = options.path
    this.errno = options.errno
  }
}

/**
 * A write was refused because its target is a symbolic link. The link and what
 * it points to are untouched.
 */
export class SymlinkWriteRefusedError extends MemoryError<'SYMLINK_WRITE_REFUSED'> {
  override name = 'SymlinkWriteRefusedError'

  /** @param path - absolute path of the link. */
  constructor(path: string) {
    super(
      'SYMLINK_WRITE_REFUSED',
      `${path} is a symbolic link; replace it with a regular file or remove it`,
      { path },
    )
  }
}

/**
 * The operating-system code of an unknown error.
 * @param error - anything that was thrown.
 * @returns for instance `'ENOENT'`, or `undefined` when there is none.
 */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
