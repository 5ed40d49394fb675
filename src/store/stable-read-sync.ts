/**
 * The one synchronous read: the index at the start of a session.
 *
 * Role: the host assembles its first prompt without awaiting anybody, and its
 * prompt providers are synchronous, so the index is read in one bounded,
 * no-follow, non-blocking go. Same checks as `stable-read.ts`. Every outcome is
 * a value: a session never fails because of its memory.
 */
import { closeSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import {
  SAFE_READ_FLAGS,
  assertReadable,
  changedError,
  decodeUtf8,
  fileIdentity,
  heldStill,
  isWhatWasSeen,
  readError,
} from './stable-read.ts'

/** How often a file that changes under the reader is tried again. */
const CHANGED_FILE_ATTEMPTS = 3

/** What a read of the index found. */
export type IndexReading =
  | { kind: 'absent'; identity: undefined }
  | { kind: 'text'; text: string; identity: string }
  | { kind: 'unreadable'; reason: string; identity: string | undefined }

/** @returns the version as bytes, or `undefined` when it was written to meanwhile. */
function readVersion(path: string): { bytes: Buffer; identity: string } | undefined {
  const seen = lstatSync(path, { bigint: true })
  assertReadable(path, seen)
  const descriptor = openSync(path, SAFE_READ_FLAGS)
  try {
    const before = fstatSync(descriptor, { bigint: true })
    if (!isWhatWasSeen(seen, before)) return undefined
    assertReadable(path, before)
    const bytes = Buffer.allocUnsafe(Number(before.size) + 1)
    let length = 0
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(descriptor, bytes, length, bytes.length - length, length)
    }
    if (length !== Number(before.size)) return undefined
    if (!heldStill(before, fstatSync(descriptor, { bigint: true }))) return undefined
    return { bytes: bytes.subarray(0, length), identity: fileIdentity(before) }
  } finally {
    closeSync(descriptor)
  }
}

/** @throws MemoryError when a directory from `projects` down is not a real one; ENOENT when missing. */
function checkDirectoriesSync(root: string): void {
  for (const directory of [dirname(dirname(root)), dirname(root), root]) {
    if (lstatSync(directory).isDirectory()) continue
    throw new MemoryError(
      'UNSAFE_PATH',
      `${directory} is not a real directory; links are not followed here`,
      {
        path: directory,
      },
    )
  }
}

/**
 * What identifies the index's present version, without reading it.
 * @returns `undefined` when there is none or it cannot be looked at.
 */
export function indexIdentitySync(paths: ProjectMemoryPaths): string | undefined {
  try {
    return fileIdentity(lstatSync(paths.indexFilePath, { bigint: true }))
  } catch {
    return undefined
  }
}

/**
 * Read the index now.
 * @returns the text as on disk, or why there is none. Never throws, never blocks on a FIFO.
 */
export function readIndexSync(paths: ProjectMemoryPaths): IndexReading {
  const { indexFilePath, root } = paths
  const identity = indexIdentitySync(paths)
  try {
    checkDirectoriesSync(root)
    for (let attempt = 0; attempt < CHANGED_FILE_ATTEMPTS; attempt += 1) {
      const version = readVersion(indexFilePath)
      if (version !== undefined) {
        return {
          kind: 'text',
          text: decodeUtf8(indexFilePath, version.bytes),
          identity: version.identity,
        }
      }
    }
    throw changedError(indexFilePath)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return { kind: 'absent', identity: undefined }
    const cause = readError(indexFilePath, error)
    const reason = cause instanceof MemoryError ? cause.message : 'unexpected error'
    return { kind: 'unreadable', reason, identity }
  }
}

/**
 * When a memory file was last written, for deciding what is recent.
 * @returns ms since the epoch; `undefined` when there is no such file.
 */
export function modificationTimeSync(path: string): number | undefined {
  try {
    return lstatSync(path).mtimeMs
  } catch {
    return undefined
  }
}
