/**
 * Some lines of an open file without reading the rest.
 *
 * Role: reads blocks from the start until enough lines are there, the file ends or
 * the byte limit is reached. Does not open, close or check the file.
 */
import { read } from 'node:fs'
import { promisify } from 'node:util'
import { MANIFEST_PREVIEW_BYTE_LIMIT } from './types.ts'

/** First block in bytes: holds the head of nearly every memory file. */
const FIRST_BLOCK_BYTES = 4096

const readBlock = promisify(read)

const LINE_FEED = 0x0a

/** Lines of a file. */
export interface LineRange {
  /** First wanted line; 0 is the first of the file. */
  offsetLine: number
  /** How many lines. */
  limitLines: number
}

/**
 * @param fd - a regular file opened for reading; stays open.
 * @param size - its size in bytes; a file that grows meanwhile is read up to here.
 * @param range - see {@link LineRange}.
 * @returns the lines with their line breaks, invalid UTF-8 replaced. A line that the
 *   limit of 64 KiB from the start of the file cuts is left out.
 */
export async function readLineRange(fd: number, size: number, range: LineRange): Promise<string> {
  const limit = Math.min(size, MANIFEST_PREVIEW_BYTE_LIMIT)
  const endLine = range.offsetLine + range.limitLines
  let bytes = Buffer.allocUnsafe(Math.min(limit, FIRST_BLOCK_BYTES))
  let length = 0
  while (length < limit && lineStart(bytes.subarray(0, length), endLine) === -1) {
    if (length === bytes.length) bytes = grown(bytes, limit)
    const { bytesRead } = await readBlock(fd, bytes, length, bytes.length - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return sliceLines(bytes.subarray(0, length), size, range)
}

function grown(bytes: Buffer, limit: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.min(limit, bytes.length * 4))
  bytes.copy(larger)
  return larger
}

function sliceLines(bytes: Buffer, size: number, { offsetLine, limitLines }: LineRange): string {
  const start = lineStart(bytes, offsetLine)
  if (start === -1) return ''
  const end = lineStart(bytes, offsetLine + limitLines)
  if (end !== -1) return bytes.toString('utf8', start, end)
  const isCut = size > MANIFEST_PREVIEW_BYTE_LIMIT
  return bytes.toString('utf8', start, isCut ? bytes.lastIndexOf(LINE_FEED) + 1 : bytes.length)
}

/** Offset at which a line begins, -1 when the bytes hold fewer line breaks. */
function lineStart(bytes: Buffer, line: number): number {
  let offset = 0
  for (let index = 0; index < line; index += 1) {
    const next = bytes.indexOf(LINE_FEED, offset)
    if (next === -1) return -1
    offset = next + 1
  }
  return offset
}
