/**
 * The door for a memory that is to be saved.
 *
 * Role: parses what a caller passed into a {@link SaveRequest} that cannot be
 * wrong; below it nobody checks again. Messages name the field and the expected
 * shape, never the value: it may be private.
 */
import { MemoryError } from '../errors.ts'
import { MEMORY_RECALL_TYPES } from '../format/limits.ts'
import { firstIllFormedIndex, toSingleLine } from '../format/text.ts'
import type { MemoryRecallType } from '../types.ts'
import { MEMORY_READ_MAX_BYTES } from './stable-read.ts'

/** Default limit of one memory's content in UTF-16 code units, as in the original plugin. */
export const MEMORY_BODY_MAX_CHARS = 8000

/** Most code units of a key: it becomes a title and a file name. */
export const MEMORY_KEY_MAX_CHARS = 1000

/** Most code units of a description: the manifest reads 64 KiB of a file's head. */
export const MEMORY_DESCRIPTION_MAX_CHARS = 8000

/** What a caller passes; `unknown` until parsed. */
export interface SaveInput {
  key: string
  content: string
  type?: string | undefined
  description?: string | undefined
  originSessionId?: string | undefined
  signal?: AbortSignal | undefined
}

/** A memory that may be saved. */
export interface SaveRequest {
  /** As given, not blank, well-formed. */
  key: string
  /** As given: not blank, well-formed, within the limits. */
  content: string
  type: MemoryRecallType
  /** One or more lines of text that is not blank, or absent. */
  description: string | undefined
  originSessionId: string | undefined
  signal: AbortSignal | undefined
}

/** Limits of {@link parseSaveRequest}. */
export interface SaveLimits {
  /** Most UTF-16 code units of `content`; without it only the 5 MiB of the reader count. */
  maxContentChars?: number
}

function invalid(message: string): MemoryError {
  return new MemoryError('INVALID_ARGUMENT', message)
}

function parseText(value: unknown, field: string, maxChars: number): string {
  if (typeof value !== 'string') throw invalid(`${field} must be a string; got ${typeName(value)}`)
  if (value.trim() === '') throw invalid(`${field} must not be blank; write some text`)
  if (value.length > maxChars) {
    throw invalid(
      `${field} has ${value.length} characters, more than the ${maxChars} allowed; shorten or split it`,
    )
  }
  const position = firstIllFormedIndex(value)
  if (position >= 0) {
    const what = value[position] === '\0' ? 'a NUL character' : 'half of a surrogate pair'
    throw invalid(`${field} contains ${what} at position ${position}; remove it`)
  }
  return value
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : typeof value
}

/** A description of blanks says as little as none. */
function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '')
}

function parseType(value: unknown): MemoryRecallType {
  if (value === undefined) return 'project'
  const type = MEMORY_RECALL_TYPES.find((candidate) => candidate === value)
  if (type === undefined) throw invalid(`type must be one of ${MEMORY_RECALL_TYPES.join(', ')}`)
  return type
}

/**
 * Parse a request to save.
 * @param input - the caller's values; unknown fields are the caller's business.
 * @param limits - further limits of the caller.
 * @throws MemoryError `INVALID_ARGUMENT` naming the field and what to do; the disk was not touched.
 */
export function parseSaveRequest(input: SaveInput, limits: SaveLimits = {}): SaveRequest {
  if (
    typeof (input as SaveInput | null | undefined) !== 'object' ||
    (input as SaveInput | null) === null
  ) {
    throw invalid('a save needs an object with key and content')
  }
  const key = parseText(input.key, 'key', MEMORY_KEY_MAX_CHARS)
  if (toSingleLine(key) === '') throw invalid('key must not be blank; write some text')
  const content = parseText(
    input.content,
    'content',
    limits.maxContentChars ?? MEMORY_READ_MAX_BYTES,
  )
  if (Buffer.byteLength(content) > MEMORY_READ_MAX_BYTES) {
    throw invalid(`content has more than ${MEMORY_READ_MAX_BYTES} bytes; shorten or split it`)
  }
  const type = parseType(input.type)
  const description = isBlank(input.description)
    ? undefined
    : parseText(input.description, 'description', MEMORY_DESCRIPTION_MAX_CHARS)
  const originSessionId =
    input.originSessionId === undefined
      ? undefined
      : parseText(input.originSessionId, 'originSessionId', MEMORY_KEY_MAX_CHARS)
  return { key, content, type, description, originSessionId, signal: input.signal }
}
