/**
 * Small helpers of the original module that scripts import beside the loop.
 *
 * Role: the project's directory name, one careful synchronous read, and whether
 * a path is in the harness's home. The loop and the policy do not use them. They
 * repeat rules of the store in few lines, because a subsystem imports nothing.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isBelow, walkPath } from './paths.ts'

/** Largest file that is read, in bytes (contract: 5 MiB). */
const MAX_READ_BYTES = 5 * 1024 * 1024

/** Longest readable part of a project's directory name (contract: 48). */
const MAX_SLUG_CHARACTERS = 48

/** What {@link readMemoryFileSync} found. */
export interface MemoryFileRead {
  /** UTF-8 text, '' when there is no file. */
  content: string
  /** False only when nothing is there. */
  exists: boolean
  /** Milliseconds since the epoch, 0 when there is no file. */
  mtimeMs: number
}

/**
 * @param name - base name of a project's folder.
 * @returns the readable part of its memory directory's name, never empty.
 */
export function sanitizeProjectSlug(name: string): string {
  const dashed = name.toLowerCase().replaceAll(/[^a-z0-9._-]+/gu, '-')
  return dashed.replaceAll(/^-+|-+$/gu, '').slice(0, MAX_SLUG_CHARACTERS) || 'project'
}

/**
 * Reads a memory file without following a link and without waiting for a FIFO.
 * @param path - absolute.
 * @returns `exists: false` when there is nothing.
 * @throws Error with `code`: that of the system, `NOT_REGULAR_FILE`,
 *   `FILE_TOO_LARGE` or `NOT_UTF8`. The message names the path.
 */
export function readMemoryFileSync(path: string): MemoryFileRead {
  let file: number
  try {
    file = openSync(
      path,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    )
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { content: '', exists: false, mtimeMs: 0 }
    throw hasCode(error, 'ELOOP') ? failure('NOT_REGULAR_FILE', path) : error
  }
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw failure('NOT_REGULAR_FILE', path)
    return { content: readText(file, path), exists: true, mtimeMs: found.mtimeMs }
  } finally {
    closeSync(file)
  }
}

/**
 * @param path - absolute.
 * @param home - the harness's home, or the environment that names it.
 * @returns whether the path lies in it after resolving links.
 */
export function isContainedInDshHome(
  path: string,
  home: string | Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const root = walkPath(typeof home === 'string' ? resolve(home) : homeOf(home['DSH_HOME']))
  const target = walkPath(resolve(path))
  return root !== undefined && target !== undefined && isBelow(root.target, target.target)
}

/** The harness's own reading of `DSH_HOME`: blank is unset, a leading `~` the user's home. */
function homeOf(value: string | undefined): string {
  if (value === undefined || value.trim() === '') return join(homedir(), '.dsh')
  return /^~(?:[\\/]|$)/u.test(value) ? join(homedir(), value.slice(1)) : resolve(value)
}

/** Reads to the end, at most one byte over the limit, also when the file grows meanwhile. */
function readText(file: number, path: string): string {
  const chunks: Buffer[] = []
  for (let total = 0; total <= MAX_READ_BYTES; ) {
    const chunk = Buffer.alloc(64 * 1024)
    const length = readSync(file, chunk)
    if (length === 0) return decode(Buffer.concat(chunks), path)
    chunks.push(chunk.subarray(0, length))
    total += length
  }
  throw failure('FILE_TOO_LARGE', path)
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw failure('NOT_UTF8', path, error)
  }
}

function failure(code: string, path: string, cause?: unknown): Error {
  const rules: Readonly<Record<string, string>> = {
    NOT_REGULAR_FILE: 'is not a regular file',
    FILE_TOO_LARGE: `is larger than ${MAX_READ_BYTES} bytes`,
    NOT_UTF8: 'is not UTF-8 text',
  }
  return Object.assign(new Error(`${path} ${rules[code] ?? code}`, { cause }), { code })
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
