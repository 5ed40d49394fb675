/**
 * The syntax of one line of an index.
 *
 * Role: reads the blanks, list markers and links of a single line by position.
 * Knows no other line: what a line means in its place is decided in
 * `index-scan.ts`. Works on character codes below 128 only, so a latin1 view of
 * UTF-8 bytes gives the same positions.
 */

/** One entry by position. */
export interface RawIndexEntry {
  /** First character of the line. */
  start: number
  /** After the line, its line ending included. */
  end: number
  /** After the indented lines right below that belong to the entry. */
  blockEnd: number
  /** First character after the bullet. */
  contentStart: number
  titleStart: number
  titleEnd: number
  targetStart: number
  targetEnd: number
  /** Whether the target may be spelled differently from the file name. */
  isEncoded: boolean
}

/** One line by position. */
export interface IndexLine {
  start: number
  /** After the text of the line, before its line ending. */
  textEnd: number
  end: number
  /** Columns of leading blanks; a tab counts as four. */
  indent: number
  /** First character that is not a space or tab. */
  first: number
}

const TAB = 9
const SPACE = 32
const DOUBLE_QUOTE = 34
const PERCENT = 37
const SINGLE_QUOTE = 39
const LEFT_PARENTHESIS = 40
const RIGHT_PARENTHESIS = 41
const ASTERISK = 42
const PLUS = 43
const DASH = 45
const DOT = 46
const COLON = 58
const LESS_THAN = 60
const GREATER_THAN = 62
const LEFT_BRACKET = 91
const BACKSLASH = 92
const RIGHT_BRACKET = 93
const BACKTICK = 96

/**
 * @param text - the index.
 * @param start - first character of the line.
 * @returns the line.
 */
export function readLine(text: string, start: number): IndexLine {
  const lineFeed = text.indexOf('\n', start)
  const end = lineFeed === -1 ? text.length : lineFeed + 1
  let textEnd = lineFeed === -1 ? end : lineFeed
  if (textEnd > start && text.charCodeAt(textEnd - 1) === 13) textEnd -= 1
  let first = start
  let indent = 0
  while (first < textEnd) {
    const code = text.charCodeAt(first)
    if (code === SPACE) indent += 1
    else if (code === TAB) indent += 4
    else break
    first += 1
  }
  return { start, textEnd, end, indent, first }
}

/**
 * The entry on a line, wherever the line stands.
 * @param text - the index.
 * @param line - one of its lines.
 * @returns positions of its parts, `undefined` when the line is no entry.
 */
export function readEntryLine(text: string, line: IndexLine): RawIndexEntry | undefined {
  if (!isBullet(text.charCodeAt(line.first))) return undefined
  const contentStart = skipBlanks(text, line.first + 1, line.textEnd)
  if (contentStart === line.first + 1 || contentStart >= line.textEnd) return undefined
  const entry: RawIndexEntry = {
    start: line.start,
    end: line.end,
    blockEnd: line.end,
    contentStart,
    titleStart: contentStart,
    titleEnd: contentStart,
    targetStart: contentStart,
    targetEnd: contentStart,
    isEncoded: false,
  }
  const isEntry =
    text.charCodeAt(contentStart) === LEFT_BRACKET
      ? readLink(text, entry, line.textEnd)
      : readBareName(text, entry, line.textEnd)
  return isEntry ? entry : undefined
}

/**
 * @param text - the index.
 * @param line - one of its lines.
 * @returns column of the content of a list item that starts there, 0 when none does.
 */
export function listItemIndent(text: string, line: IndexLine): number {
  let position = line.first
  const code = text.charCodeAt(position)
  if (!isBullet(code)) {
    while (position < line.textEnd && isDigit(text.charCodeAt(position))) position += 1
    const delimiter = text.charCodeAt(position)
    if (position === line.first || (delimiter !== DOT && delimiter !== RIGHT_PARENTHESIS)) return 0
  }
  position += 1
  const content = skipBlanks(text, position, line.textEnd)
  return content > position && content < line.textEnd ? content - line.start : 0
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isBullet(code: number): boolean {
  return code === DASH || code === ASTERISK || code === PLUS
}

/**
 * @param text - any text.
 * @param from - where to begin.
 * @param to - where to stop.
 * @returns position of the first character that is not a space or tab.
 */
export function skipBlanks(text: string, from: number, to: number): number {
  let position = from
  while (position < to) {
    const code = text.charCodeAt(position)
    if (code !== SPACE && code !== TAB) break
    position += 1
  }
  return position
}

/**
 * @param text - any text.
 * @param code - an ASCII character.
 * @param from - where to begin.
 * @param to - where to stop: a search beyond the line would make a scan quadratic.
 * @returns position of the character, -1 when it is not there.
 */
export function indexWithin(text: string, code: number, from: number, to: number): number {
  for (let position = from; position < to; position += 1) {
    if (text.charCodeAt(position) === code) return position
  }
  return -1
}

function readBareName(text: string, entry: RawIndexEntry, textEnd: number): boolean {
  let position = entry.contentStart
  while (position < textEnd) {
    const code = text.charCodeAt(position)
    if (code === COLON) break
    if (code <= SPACE || code === LEFT_BRACKET || code === BACKTICK || code === LESS_THAN)
      return false
    position += 1
  }
  if (position >= textEnd || position - entry.contentStart <= 3) return false
  entry.targetEnd = position
  entry.isEncoded = hasEscape(text, entry.targetStart, position)
  return endsWithExtension(text, position)
}

function endsWithExtension(text: string, end: number): boolean {
  return text.slice(end - 3, end).toLowerCase() === '.md'
}

function readLink(text: string, entry: RawIndexEntry, textEnd: number): boolean {
  const titleEnd = closingBracket(text, entry.contentStart, textEnd)
  if (titleEnd === -1 || text.charCodeAt(titleEnd + 1) !== LEFT_PARENTHESIS) return false
  entry.titleStart = entry.contentStart + 1
  entry.titleEnd = titleEnd
  const targetStart = skipBlanks(text, titleEnd + 2, textEnd)
  if (!readTarget(text, entry, targetStart, textEnd)) return false
  entry.isEncoded = hasEscape(text, entry.targetStart, entry.targetEnd)
  return true
}

function readTarget(text: string, entry: RawIndexEntry, from: number, textEnd: number): boolean {
  if (text.charCodeAt(from) === LESS_THAN) {
    const close = indexWithin(text, GREATER_THAN, from, textEnd)
    if (close === -1) return false
    entry.targetStart = from + 1
    entry.targetEnd = close
    return closesLink(text, close + 1, textEnd)
  }
  entry.targetStart = from
  entry.targetEnd = targetEnd(text, from, textEnd, false)
  if (closesLink(text, entry.targetEnd, textEnd)) return true
  entry.targetEnd = targetEnd(text, from, textEnd, true)
  return entry.targetEnd < textEnd
}

/** @returns whether a target has a percent code, a backslash or a leading dot. */
function hasEscape(text: string, from: number, to: number): boolean {
  if (text.charCodeAt(from) === DOT) return true
  if (indexWithin(text, PERCENT, from, to) !== -1) return true
  return indexWithin(text, BACKSLASH, from, to) !== -1
}

/** @returns position of the bracket that closes a title; of the first `](` when brackets are unbalanced. */
function closingBracket(text: string, from: number, textEnd: number): number {
  let depth = 0
  let fallback = -1
  for (let position = from; position < textEnd; position += 1) {
    const code = text.charCodeAt(position)
    if (code === BACKSLASH) position += 1
    else if (code === LEFT_BRACKET) depth += 1
    else if (code === RIGHT_BRACKET) {
      depth -= 1
      if (depth === 0) return position
      if (fallback === -1 && text.charCodeAt(position + 1) === LEFT_PARENTHESIS) fallback = position
    }
  }
  return fallback
}

/** @returns where a link target ends: at its blank (unless they are allowed) or unbalanced `)`. */
function targetEnd(text: string, from: number, textEnd: number, allowsBlanks: boolean): number {
  let depth = 0
  for (let position = from; position < textEnd; position += 1) {
    const code = text.charCodeAt(position)
    if (code === BACKSLASH) position += 1
    else if (code === LEFT_PARENTHESIS) depth += 1
    else if (code === RIGHT_PARENTHESIS && --depth < 0) return position
    else if (!allowsBlanks && (code === SPACE || code === TAB)) return position
  }
  return textEnd
}

/** @returns whether a link closes here, with or without a quoted title before its `)`. */
function closesLink(text: string, from: number, textEnd: number): boolean {
  let position = skipBlanks(text, from, textEnd)
  const quote = text.charCodeAt(position)
  if (position > from && (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE)) {
    const close = indexWithin(text, quote, position + 1, textEnd)
    if (close === -1) return false
    position = skipBlanks(text, close + 1, textEnd)
  }
  return position < textEnd && text.charCodeAt(position) === RIGHT_PARENTHESIS
}
