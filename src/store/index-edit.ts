/**
 * Editing the bytes of an index.
 *
 * Role: gives the same result as `upsertIndexEntries` over the whole text, but
 * hands it only the lines that matter and keeps the rest as slices of the old
 * bytes: turning a large index into a string and back takes longer than writing
 * it. That is possible where nothing reaches over lines (after the last code
 * fence and comment) and while file names stand in it as they are; otherwise the
 * whole text is edited. Touches no disk.
 */
import { upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { scanIndex } from '../format/index-scan.ts'
import type { IndexEntry } from '../types.ts'

/** Opens or closes something that may reach over lines. */
const FENCES = ['```', '~~~', '<!--', '-->']

/** Up to here, in bytes, the lines with fences are looked at to find out what they reach over. */
const FENCED_PART_MAX_BYTES = 64 * 1024

/** What may spell a character of a file name in another way: a percent code, an escaped `.`, `-` or `_`. */
const ENCODINGS: [mark: string, isEncoded: (next: string) => boolean][] = [
  ['%', (next) => /^[\da-f]{2}$/iu.test(next)],
  ['\\', (next) => /^[._-]/u.test(next)],
]

/** More entries than this are looked for faster in one pass over the text. */
const MAX_SEPARATE_ENTRIES = 8

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
const TAB = 9
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** An edited index. */
export interface EditedIndex {
  isChanged: boolean
  /** The new content; put together it is what is to be written. Old parts are views of the old bytes. */
  pieces: readonly Buffer[]
}

/** A run of whole lines. */
interface LineRun {
  start: number
  end: number
}

/**
 * Write entries into an index, in call order; see `upsertIndexEntries`.
 * @param bytes - the index, UTF-8; must not change as long as the pieces are in use.
 * @param entries - at most one for each file.
 */
export function editIndex(bytes: Buffer, entries: readonly IndexEntry[]): EditedIndex {
  const from = plainStart(bytes)
  if (entries.length > MAX_SEPARATE_ENTRIES || from === undefined) return wholeEdit(bytes, entries)
  const mentioned = entries.filter(({ fileName }) => bytes.includes(fileName))
  if (mentioned.length > 0 && entries.length > 1) return wholeEdit(bytes, entries)
  for (const { fileName } of mentioned) {
    const lines = linesOf(bytes, fileName)
    if (lines.start < from) return wholeEdit(bytes, entries)
    const edited = editLines(bytes, lines, entries)
    if (edited.isReplacement) return edited
  }
  const lines = lastLines(bytes)
  return lines.start < from ? wholeEdit(bytes, entries) : editLines(bytes, lines, entries)
}

function wholeEdit(bytes: Buffer, entries: readonly IndexEntry[]): EditedIndex {
  const before = bytes.toString('latin1')
  const { text } = upsertIndexEntries(before, entries, utf8BytesCodec)
  if (text === before) return { isChanged: false, pieces: [bytes] }
  return { isChanged: true, pieces: [Buffer.from(text, 'latin1')] }
}

/**
 * From where on each line can be understood by itself.
 * @returns `undefined` when file names may stand there in another spelling, or when something is
 *   left open.
 */
function plainStart(bytes: Buffer): number | undefined {
  for (const [mark, isEncoded] of ENCODINGS) {
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
      if (isEncoded(bytes.toString('latin1', at + 1, at + 3))) return undefined
    }
  }
  const last = Math.max(...FENCES.map((fence) => bytes.lastIndexOf(fence)))
  if (last < 0) return 0
  // With the line after: what ends before the end of this part has ended by itself.
  const end = nextLine(bytes, nextLine(bytes, last))
  if (end > FENCED_PART_MAX_BYTES) return undefined
  const { constructs } = scanIndex(bytes.toString('latin1', 0, end))
  return constructs.every((construct) => construct.end < end) ? end : undefined
}

/** Edit some lines only; also says whether the first entry was listed there. */
function editLines(
  bytes: Buffer,
  { start, end }: LineRun,
  entries: readonly IndexEntry[],
): EditedIndex & { isReplacement: boolean } {
  // A byte order mark counts only at the very start of the index.
  const isMisleading = start > 0 && bytes.subarray(start, start + 3).equals(BYTE_ORDER_MARK)
  if (isMisleading) return { ...wholeEdit(bytes, entries), isReplacement: true }
  const before = bytes.toString('latin1', start, end)
  const { text, replaced } = upsertIndexEntries(before, entries, utf8BytesCodec)
  const isReplacement = replaced[0] === true
  if (text === before) return { isChanged: false, pieces: [bytes], isReplacement }
  const pieces = [bytes.subarray(0, start), Buffer.from(text, 'latin1'), bytes.subarray(end)]
  return { isChanged: true, pieces: pieces.filter((piece) => piece.length > 0), isReplacement }
}

/** The lines from the first that mentions a name to the last, with what belongs to that entry. */
function linesOf(bytes: Buffer, name: string): LineRun {
  const start = lineStart(bytes, bytes.indexOf(name))
  let end = nextLine(bytes, bytes.lastIndexOf(name))
  while (end < bytes.length && isBlank(bytes[end])) end = nextLine(bytes, end)
  return { start, end }
}

/** From the line before the last one that is not blank to the end, so that a line ending is among them. */
function lastLines(bytes: Buffer): LineRun {
  let last = bytes.length
  while (last > 0 && isBlankOrBreak(bytes[last - 1])) last -= 1
  const start = lineStart(bytes, Math.max(0, last - 1))
  return { start: start === 0 ? 0 : lineStart(bytes, start - 1), end: bytes.length }
}

function lineStart(bytes: Buffer, position: number): number {
  return position <= 0 ? 0 : bytes.lastIndexOf(LINE_FEED, position - 1) + 1
}

function nextLine(bytes: Buffer, position: number): number {
  const lineFeed = bytes.indexOf(LINE_FEED, position)
  return lineFeed < 0 ? bytes.length : lineFeed + 1
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function isBlankOrBreak(byte: number | undefined): boolean {
  return isBlank(byte) || byte === LINE_FEED || byte === CARRIAGE_RETURN
}
