/**
 * Editing the index line by line.
 *
 * Role: pure edits of `MEMORY.md`. An edit touches the lines of the files it is
 * about and nothing else: the result is put together from slices of the old
 * text, never from parsed and re-written Markdown. A codec lets the same edits
 * run on a latin1 view of the bytes, so that a large index is never decoded.
 */

import type { IndexEntry } from '../types.ts'
import { decodeIndexTarget, renderIndexEntry, unescapeMarkdown } from './index-entry.ts'
import type { RawIndexEntry } from './index-line.ts'
import { byteOrderMarkLength, scanIndex } from './index-scan.ts'
import type { IndexScan } from './index-scan.ts'

/** How text stands in the string that is edited. */
export interface IndexCodec {
  decode(raw: string): string
  encode(text: string): string
}

/** One entry of an index. */
export interface IndexEntryLine {
  /** First character of its line. */
  start: number
  /** After its line ending. */
  end: number
  /** After the indented lines right below that belong to it. */
  blockEnd: number
  /** For instance `- `, leading spaces included. */
  bullet: string
  /** Decoded link target. */
  fileName: string
  /** Decoded title without escapes; `''` for the form `file.md: hook`. */
  title: string
}

/** An entry that was taken out of an index. */
export interface RemovedIndexEntry {
  /** Its line and the lines that belonged to it, as they stood, line endings included. */
  line: string
  /** File name of the entry before it, `undefined` when it was the first. */
  after: string | undefined
}

interface Edit {
  start: number
  end: number
  text: string
  /** Whether the text must begin on a line of its own. */
  isNewLine?: boolean
}

/** Its content stands deeper than the three columns that a construct may be indented. */
const WIDE_BULLET = '-   '
const ONLY_ASCII = /^[\0-\x7f]*$/

/** The edited string is the text itself. */
export const textCodec: IndexCodec = { decode: (raw) => raw, encode: (text) => text }

/** The edited string holds one character per UTF-8 byte (`latin1`). */
export const utf8BytesCodec: IndexCodec = {
  decode: (raw) => (isAscii(raw) ? raw : Buffer.from(raw, 'latin1').toString('utf8')),
  encode: (text) => (isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')),
}

function isAscii(text: string): boolean {
  return ONLY_ASCII.test(text)
}

/**
 * All entries of an index.
 * @param text - the index in the codec's form.
 * @param codec - form of the text, plain by default.
 * @returns entries that link to a Markdown file of the memory directory, in text order.
 */
export function scanIndexEntries(text: string, codec: IndexCodec = textCodec): IndexEntryLine[] {
  const entries: IndexEntryLine[] = []
  for (const raw of scanIndex(text).entries) {
    const fileName = decodeIndexTarget(codec.decode(text.slice(raw.targetStart, raw.targetEnd)))
    if (fileName !== undefined) entries.push(toEntryLine(text, raw, fileName, codec))
  }
  return entries
}

/**
 * The entries of one file; decodes only lines that may be its.
 * @param text - the index in the codec's form.
 * @param fileName - name with `.md`.
 * @param codec - form of the text, plain by default.
 * @returns its entries in text order; more than one when a person wrote duplicates.
 */
export function findIndexEntries(
  text: string,
  fileName: string,
  codec: IndexCodec = textCodec,
): IndexEntryLine[] {
  const found = entriesOfFiles(text, scanIndex(text), [fileName], codec).get(fileName) ?? []
  return found.map((raw) => toEntryLine(text, raw, fileName, codec))
}

function toEntryLine(
  text: string,
  raw: RawIndexEntry,
  fileName: string,
  codec: IndexCodec,
): IndexEntryLine {
  return {
    start: raw.start,
    end: raw.end,
    blockEnd: raw.blockEnd,
    bullet: text.slice(raw.start, raw.contentStart),
    fileName,
    title: unescapeMarkdown(codec.decode(text.slice(raw.titleStart, raw.titleEnd))),
  }
}

function entriesOfFiles(
  text: string,
  scan: IndexScan,
  fileNames: Iterable<string>,
  codec: IndexCodec,
): Map<string, RawIndexEntry[]> {
  const found = new Map<string, RawIndexEntry[]>()
  const byRawName = new Map<string, RawIndexEntry[]>()
  for (const fileName of fileNames) {
    const entries: RawIndexEntry[] = []
    found.set(fileName, entries)
    byRawName.set(codec.encode(fileName), entries)
  }
  for (const raw of scan.entries) {
    const target = text.slice(raw.targetStart, raw.targetEnd)
    const name = raw.isEncoded ? (decodeIndexTarget(codec.decode(target)) ?? '') : undefined
    const entries = name === undefined ? byRawName.get(target) : found.get(name)
    entries?.push(raw)
  }
  return found
}

/**
 * Writes entries into an index, in call order.
 *
 * An entry whose file is listed replaces that line in place, bullet, line ending
 * and indented lines kept; further lines of the file go, their indented lines
 * move under the first. Other entries go after the last line that is not blank,
 * or before a fence or comment that is still open there.
 *
 * @param text - the index in the codec's form.
 * @param entries - entries to write; of several for one file the last counts.
 * @param codec - form of the text, plain by default.
 * @returns the new index in the codec's form, and per entry whether its file was listed.
 */
export function upsertIndexEntries(
  text: string,
  entries: readonly IndexEntry[],
  codec: IndexCodec = textCodec,
): { text: string; replaced: boolean[] } {
  const latest = new Map<string, IndexEntry>()
  const isRepeated = entries.map((entry) => {
    const wasSeen = latest.has(entry.fileName)
    latest.set(entry.fileName, entry)
    return wasSeen
  })
  const scan = scanIndex(text)
  const found = entriesOfFiles(text, scan, latest.keys(), codec)
  const lineEnding = lastLineEnding(text)
  const edits: Edit[] = []
  const added: string[] = []
  const start = startOfNewEntries(text, scan)
  /** An indented construct below would become content of an item with a narrower bullet. */
  const bullet = text.charAt(start) === ' ' && start === scan.openStart ? WIDE_BULLET : undefined
  for (const [fileName, entry] of latest) {
    const raws = found.get(fileName) ?? []
    if (raws.length > 0) edits.push(...replaceEdits(text, raws, entry, lineEnding, codec))
    else added.push(`${codec.encode(renderIndexEntry(entry, bullet))}${lineEnding}`)
  }
  if (added.length > 0) edits.push({ start, end: start, text: added.join(''), isNewLine: true })
  const replaced = entries.map(
    (entry, position) =>
      isRepeated[position] === true || (found.get(entry.fileName) ?? []).length > 0,
  )
  return { text: applyEdits(text, edits, lineEnding), replaced }
}

function replaceEdits(
  text: string,
  raws: readonly RawIndexEntry[],
  entry: IndexEntry,
  lineEnding: string,
  codec: IndexCodec,
): Edit[] {
  const [kept, ...duplicates] = raws
  if (kept === undefined) return []
  const bullet = text.slice(kept.start, kept.contentStart)
  const end = endOfLineText(text, kept.start, kept.end)
  const edits: Edit[] = [
    { start: kept.start, end, text: codec.encode(renderIndexEntry(entry, bullet)) },
  ]
  const moved = duplicates.map((raw) =>
    withLineEnding(text.slice(raw.end, raw.blockEnd), lineEnding),
  )
  edits.push({ start: kept.blockEnd, end: kept.blockEnd, text: moved.join('') })
  for (const raw of duplicates) edits.push({ start: raw.start, end: raw.blockEnd, text: '' })
  return edits
}

function withLineEnding(lines: string, lineEnding: string): string {
  return lines === '' || lines.endsWith('\n') ? lines : `${lines}${lineEnding}`
}

/**
 * Writes one entry into an index; see {@link upsertIndexEntries}.
 * @param text - the index.
 * @param entry - the entry.
 * @returns the new index.
 */
export function upsertIndexEntry(text: string, entry: IndexEntry): string {
  return upsertIndexEntries(text, [entry]).text
}

/**
 * Takes all entries of a file out of an index.
 * @param text - the index in the codec's form.
 * @param fileName - name with `.md`.
 * @param codec - form of the text, plain by default.
 * @returns the new index in the codec's form, and what was taken out, decoded.
 */
export function removeIndexEntry(
  text: string,
  fileName: string,
  codec: IndexCodec = textCodec,
): { text: string; removed: RemovedIndexEntry[] } {
  const scan = scanIndex(text)
  const raws = new Set(entriesOfFiles(text, scan, [fileName], codec).get(fileName))
  const edits: Edit[] = []
  const removed: RemovedIndexEntry[] = []
  let before: RawIndexEntry | undefined
  for (const raw of scan.entries) {
    if (!raws.has(raw)) {
      before = raw
      continue
    }
    edits.push({ start: raw.start, end: raw.blockEnd, text: '' })
    const target = before && codec.decode(text.slice(before.targetStart, before.targetEnd))
    removed.push({
      line: codec.decode(text.slice(raw.start, raw.blockEnd)),
      after: target === undefined ? undefined : decodeIndexTarget(target),
    })
  }
  return { text: applyEdits(text, edits, '\n'), removed }
}

/**
 * Puts a removed entry back.
 * @param text - the index in the codec's form.
 * @param removed - what {@link removeIndexEntry} returned.
 * @param codec - form of the text, plain by default.
 * @returns the new index: the lines stand after the entry they stood after, else
 * before the first entry, else where a new entry would go.
 */
export function restoreIndexEntry(
  text: string,
  removed: RemovedIndexEntry,
  codec: IndexCodec = textCodec,
): string {
  const scan = scanIndex(text)
  const lineEnding = lastLineEnding(text)
  const before =
    removed.after === undefined
      ? undefined
      : entriesOfFiles(text, scan, [removed.after], codec).get(removed.after)?.at(-1)
  const first = removed.after === undefined ? scan.entries[0]?.start : undefined
  const place = before?.blockEnd ?? first
  const start = place ?? startOfNewEntries(text, scan)
  const line = place === undefined ? atTopLevel(removed.line, text.charAt(start)) : removed.line
  const lines = withLineEnding(codec.encode(line), lineEnding)
  return applyEdits(text, [{ start, end: start, text: lines, isNewLine: true }], lineEnding)
}

/** A line for another place: no list item above takes it in, and it takes in nothing below. */
function atTopLevel(line: string, below: string): string {
  return line.replace(/^ *([-*+]) +/, below === ' ' ? `$1${WIDE_BULLET.slice(1)}` : '$1 ')
}

/** Joins by concatenation and looks at pieces only, so that a large text is copied once at most. */
function applyEdits(text: string, edits: readonly Edit[], lineEnding: string): string {
  const ordered = edits.toSorted((one, other) => one.start - other.start || one.end - other.end)
  const textStart = byteOrderMarkLength(text)
  let result = ''
  let lastPiece = ''
  let position = 0
  const add = (piece: string): void => {
    if (piece === '') return
    result += piece
    lastPiece = piece
  }
  for (const edit of ordered) {
    add(text.slice(position, edit.start))
    const needsBreak = edit.isNewLine === true && edit.start > textStart && lastPiece !== ''
    if (needsBreak && !lastPiece.endsWith('\n')) add(lineEnding)
    add(edit.text)
    position = edit.end
  }
  add(text.slice(position))
  return result
}

/** @returns end of the line's text, before its LF or CRLF. */
function endOfLineText(text: string, start: number, end: number): number {
  let textEnd = end
  if (textEnd > start && text.charAt(textEnd - 1) === '\n') textEnd -= 1
  if (textEnd > start && text.charAt(textEnd - 1) === '\r') textEnd -= 1
  return textEnd
}

/** @returns where new entries go: after the last line, or before what is still open there. */
function startOfNewEntries(text: string, scan: IndexScan): number {
  return scan.openStart === -1 ? endOfLastLine(text) : scan.openStart
}

/** @returns position after the last line that is not blank, after a byte order mark when all are. */
function endOfLastLine(text: string): number {
  const from = byteOrderMarkLength(text)
  let end = text.length
  while (end > from && ' \t\r\n'.includes(text.charAt(end - 1))) end -= 1
  if (end === from) return from
  const lineFeed = text.indexOf('\n', end)
  return lineFeed === -1 ? text.length : lineFeed + 1
}

/** @returns the line ending of the last line that has one, LF for a text without any. */
function lastLineEnding(text: string): string {
  const lineFeed = text.lastIndexOf('\n')
  return lineFeed > 0 && text.charAt(lineFeed - 1) === '\r' ? '\r\n' : '\n'
}
