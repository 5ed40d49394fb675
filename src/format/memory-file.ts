/**
 * The memory file: YAML frontmatter, then a Markdown body.
 *
 * Role: text out, header values in. Does not touch the disk and does not judge
 * names. The header is written as JSON-style double-quoted scalars, which every
 * YAML 1.1 and 1.2 reader takes for the same strings; a YAML library would fold
 * long lines and leave some line separators raw. Files of that shape are read
 * without the YAML parser, all others with it (see `frontmatter.ts`).
 */

import type { MemoryRecallType } from '../types.ts'
import { frontmatterLines, readWithParser, readWrittenShape } from './frontmatter.ts'
import type { MemoryHeader } from './frontmatter.ts'
import {
  DEFAULT_MEMORY_TYPE,
  DERIVED_DESCRIPTION_LENGTH_LIMIT,
  MEMORY_RECALL_TYPES,
} from './limits.ts'
import { toSingleLine, truncateText } from './text.ts'

export type { MemoryHeader } from './frontmatter.ts'

/** What {@link renderMemoryFile} writes. */
export interface MemoryFileContent {
  /** File name without `.md`. */
  name: string
  /** Short description; written in full. */
  description: string
  /** Kind; an unknown value is written as `project`. */
  type: MemoryRecallType
  /** Markdown body as given by the caller. */
  body: string
  /** The caller's key, from which the topic is known again. */
  title?: string | undefined
  /** Session that wrote the memory. */
  originSessionId?: string | undefined
}

/** Controls, YAML 1.1 line separators, byte order marks, non-characters and lone surrogates. */
const UNSAFE_IN_SCALAR = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/gu
const BLANK_LINES_BEFORE = /^(?:[ \t\r]*\n)+/
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/
const LINE_MARKER = /^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\d{1,9}[.)]\s+)+/
const HEADER_LINE = /^\s*$|^\s+\S|^[\w.-]+:(?:\s|$)/
const RULE = /^\s*(?:[-*_=]\s*){3,}$/

/**
 * The text of a memory file.
 *
 * @param memory - header values (any string survives) and body.
 * @returns frontmatter, a blank line, and the body as given, without the blank
 * lines before and after it; the text ends with one LF.
 */
export function renderMemoryFile(memory: MemoryFileContent): string {
  const header = [
    '---',
    `name: ${quoted(memory.name)}`,
    `description: ${quoted(memory.description)}`,
    'metadata:',
    `  type: ${normalizeMemoryType(memory.type)}`,
    '  node_type: memory',
  ]
  if (memory.title !== undefined) header.push(`  title: ${quoted(memory.title)}`)
  if (memory.originSessionId !== undefined) {
    header.push(`  originSessionId: ${quoted(memory.originSessionId)}`)
  }
  header.push('---', '')
  const body = bodyText(memory.body)
  return `${header.join('\n')}${body === '' ? '' : `\n${body}`}`
}

/**
 * Description and type of a memory file.
 *
 * @param text - the file, or its first lines.
 * @returns what could be read; never throws. A type outside the four is left out.
 */
export function parseMemoryFrontmatter(text: string): {
  description?: string
  type?: MemoryRecallType
} {
  const { description, type } = readMemoryHeader(text)
  return {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
  }
}

/**
 * Everything the header of a memory file says.
 *
 * @param text - the file, or its first lines; BOM and CRLF allowed.
 * @returns the strings as they are in the file, empty ones left out; `{}` when
 * there is no closed frontmatter. Never throws: what YAML refuses is read line by line.
 */
export function readMemoryHeader(text: string): MemoryHeader {
  const lines = frontmatterLines(text)
  if (lines === undefined) return {}
  return readWrittenShape(lines) ?? readWithParser(lines)
}

/**
 * A known type.
 * @param value - anything.
 * @returns the value when it is one of the four types, else `project`.
 */
export function normalizeMemoryType(value: unknown): MemoryRecallType {
  return MEMORY_RECALL_TYPES.find((type) => type === value) ?? DEFAULT_MEMORY_TYPE
}

/**
 * A description for a memory that was saved without one.
 *
 * @param body - Markdown body.
 * @returns its first line of prose without list and heading marks, on one line of
 * at most 150 code units; a heading only when there is no prose; `''` for an empty body.
 */
export function deriveDescription(body: string): string {
  const header = frontmatterLines(body)
  const isHeader = header?.every((line) => HEADER_LINE.test(line)) === true
  const lines = body.split('\n').slice(isHeader ? header.length + 2 : 0)
  let heading = ''
  let code = ''
  let isCode = false
  for (const line of lines) {
    if (FENCE.test(line)) {
      isCode = !isCode
      continue
    }
    const words = RULE.test(line) ? '' : toSingleLine(line.replace(LINE_MARKER, ''))
    if (words === '') continue
    if (isCode) code ||= words
    else if (HEADING.test(line)) heading ||= words
    else return truncateText(words, DERIVED_DESCRIPTION_LENGTH_LIMIT)
  }
  return truncateText(heading || code, DERIVED_DESCRIPTION_LENGTH_LIMIT)
}

function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    UNSAFE_IN_SCALAR,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function bodyText(body: string): string {
  const end = endOfText(body)
  if (end === 0) return ''
  const lineEnd = body.indexOf('\n', end)
  const text = body.slice(0, lineEnd === -1 ? body.length : lineEnd + 1)
  const bare = text.replace(BLANK_LINES_BEFORE, '')
  return lineEnd === -1 ? `${bare}\n` : bare
}

/** @returns position after the last character that is not a blank or a line break. */
function endOfText(body: string): number {
  let end = body.length
  while (end > 0 && ' \t\r\n'.includes(body.charAt(end - 1))) end -= 1
  return end
}
