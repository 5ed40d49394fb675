/**
 * Finding the entries of an index.
 *
 * Role: one pass over the text that says where entries, fenced code and HTML
 * comments stand. All its syntax is ASCII, so it works on a normal string and on
 * a latin1 view of UTF-8 bytes alike; it decodes nothing and changes nothing.
 * Each line is looked at by its first characters only: a large index is scanned
 * inside every save.
 */

import { indexWithin, listItemIndent, readEntryLine, readLine, skipBlanks } from './index-line.ts'
import type { IndexLine, RawIndexEntry } from './index-line.ts'

/** A run of text in which no entry is looked for. */
export interface IndexConstruct {
  start: number
  end: number
}

/** What one pass found. */
export interface IndexScan {
  entries: RawIndexEntry[]
  constructs: IndexConstruct[]
  /** Start of a top-level fence or comment that is still open at the end of the text, else -1. */
  openStart: number
}

interface OpenConstruct extends IndexConstruct {
  /** Fence character, 0 for a comment. */
  marker: number
  /** Shortest closing fence. */
  length: number
  /** Where a comment ends; beyond the text when it does not. */
  closeAt: number
  /** Least indentation of the lines inside, when the construct stands in a list item. */
  itemIndent: number
  /** Entry whose block the construct extends. */
  owner: RawIndexEntry | undefined
}

interface State extends IndexScan {
  text: string
  open: OpenConstruct | undefined
  /** Entry that indented lines belong to. */
  current: RawIndexEntry | undefined
  /** Columns of the content of the list items that are open, outermost first. */
  itemIndents: number[]
  /** The last comment end that was looked up; each is looked for once. */
  commentEnd: number
}

const LESS_THAN = 60
const BACKTICK = 96
const TILDE = 126
/** Deepest indentation of a line that is not indented code. */
const MAX_INDENT = 3
const MIN_FENCE_LENGTH = 3

/**
 * Scans an index.
 * @param text - the index, as a string or as a latin1 view of its bytes.
 * @returns entries and constructs in text order.
 */
export function scanIndex(text: string): IndexScan {
  const state: State = {
    text,
    entries: [],
    constructs: [],
    openStart: -1,
    open: undefined,
    current: undefined,
    itemIndents: [],
    commentEnd: -1,
  }
  let start = byteOrderMarkLength(text)
  while (start < text.length) {
    const line = readLine(text, start)
    visitLine(state, line)
    start = line.end
  }
  if (state.open !== undefined) {
    if (state.open.itemIndent === 0) state.openStart = state.open.start
    closeConstruct(state, text.length)
  }
  return state
}

/**
 * @param text - the index, as a string or as a latin1 view of its bytes.
 * @returns how many characters at its start are a byte order mark.
 */
export function byteOrderMarkLength(text: string): number {
  if (text.startsWith('\ufeff')) return 1
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}

function visitLine(state: State, line: IndexLine): void {
  const isBlank = line.first >= line.textEnd
  if (state.open !== undefined) {
    if (isBlank || line.indent >= state.open.itemIndent) {
      continueConstruct(state, state.open, line)
      return
    }
    closeConstruct(state, line.start)
  }
  if (isBlank) {
    state.current = undefined
    return
  }
  while (itemIndentOf(state) > line.indent) state.itemIndents.pop()
  if (line.indent - itemIndentOf(state) <= MAX_INDENT && openConstruct(state, line, line.first))
    return
  const entry = line.indent <= MAX_INDENT ? readEntryLine(state.text, line) : undefined
  if (entry !== undefined) {
    state.entries.push(entry)
    state.current = entry
    state.itemIndents.push(entry.contentStart - line.start)
    return
  }
  const itemIndent = listItemIndent(state.text, line)
  if (line.indent === 0) state.current = undefined
  if (itemIndent > 0) {
    state.itemIndents.push(itemIndent)
    if (openConstruct(state, line, line.start + itemIndent)) return
  }
  if (state.current !== undefined) state.current.blockEnd = line.end
}

function itemIndentOf(state: State): number {
  return state.itemIndents.at(-1) ?? 0
}

function continueConstruct(state: State, open: OpenConstruct, line: IndexLine): void {
  if (open.owner !== undefined) open.owner.blockEnd = line.end
  const isClosed =
    open.marker === 0 ? open.closeAt < line.end : isClosingFence(state.text, open, line)
  if (isClosed) closeConstruct(state, line.end)
}

function closeConstruct(state: State, end: number): void {
  if (state.open !== undefined) state.constructs.push({ start: state.open.start, end })
  state.open = undefined
}

function isClosingFence(text: string, open: OpenConstruct, line: IndexLine): boolean {
  if (line.indent - open.itemIndent > MAX_INDENT) return false
  let position = line.first
  while (position < line.textEnd && text.charCodeAt(position) === open.marker) position += 1
  if (position - line.first < open.length) return false
  return skipBlanks(text, position, line.textEnd) === line.textEnd
}

/** Opens a fence or comment that starts at a position of the line; one that ends on it is recorded. */
function openConstruct(state: State, line: IndexLine, position: number): boolean {
  const { text } = state
  const code = text.charCodeAt(position)
  const isComment = code === LESS_THAN && text.startsWith('<!--', position)
  const length = code === BACKTICK || code === TILDE ? fenceLength(text, position, line) : 0
  if (!isComment && length === 0) return false
  const itemIndent = itemIndentOf(state)
  if (itemIndent === 0) state.current = undefined
  const closeAt = isComment ? commentEndAfter(state, position + 2) : text.length
  state.open = {
    start: line.start,
    end: line.end,
    marker: isComment ? 0 : code,
    length,
    closeAt,
    itemIndent,
    owner: state.current,
  }
  if (state.current !== undefined) state.current.blockEnd = line.end
  if (isComment && closeAt < line.end) closeConstruct(state, line.end)
  return true
}

/** @returns start of the next `-->`, the length of the text when there is none. */
function commentEndAfter(state: State, from: number): number {
  if (state.commentEnd < from) {
    const found = state.text.indexOf('-->', from)
    state.commentEnd = found === -1 ? state.text.length : found
  }
  return state.commentEnd
}

/** @returns length of an opening code fence, 0 when there is none. */
function fenceLength(text: string, position: number, line: IndexLine): number {
  const marker = text.charCodeAt(position)
  let end = position
  while (end < line.textEnd && text.charCodeAt(end) === marker) end += 1
  if (end - position < MIN_FENCE_LENGTH) return 0
  const isSpan = marker === BACKTICK && indexWithin(text, BACKTICK, end, line.textEnd) !== -1
  return isSpan ? 0 : end - position
}
