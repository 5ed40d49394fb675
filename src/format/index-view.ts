/**
 * The part of an index that a model sees.
 *
 * Role: strips, measures and, when the index does not fit, chooses. The plain
 * functions keep the first lines, as the reference does; `viewIndex` can keep
 * the entries that were written last, because a new memory stands at the end.
 * Limits count the text without the warning. Reads no file: file times come in
 * through a port, which is asked only when something must be left out.
 */

import { MemoryError } from '../errors.ts'
import type { IndexLimits, IndexOverflow } from '../types.ts'
import { decodeIndexTarget } from './index-entry.ts'
import { cutHead, selectRecent } from './index-select.ts'
import type { ListedEntry } from './index-select.ts'
import type { RawIndexEntry } from './index-line.ts'
import { scanIndex } from './index-scan.ts'
import { stripLeadingFrontmatter, stripTopLevelHtmlComments } from './index-strip.ts'
import { renderIndexWarning } from './index-warning.ts'
import type { IndexSize, ResolvedIndexLimits } from './index-warning.ts'
import { MEMORY_INDEX_CHARACTER_LIMIT, MEMORY_INDEX_LINE_LIMIT } from './limits.ts'
import { toWellFormedText } from './text.ts'

export { stripLeadingFrontmatter, stripTopLevelHtmlComments } from './index-strip.ts'

/** How an index is viewed. */
export interface IndexViewOptions extends ResolvedIndexLimits {
  /** Which part stays when the index does not fit. */
  overflow: IndexOverflow
  /**
   * When a memory file was written, in milliseconds; `undefined` for a missing
   * file. Called only for `recent` on an index that does not fit, once per file
   * and at most 5,000 times.
   */
  mtimeMsOf?: ((fileName: string) => number | undefined) | undefined
}

/** What is injected of an index. */
export interface IndexView {
  /** The text with its warning, LF line ends, well-formed; `''` when there is nothing. */
  text: string
  /** The warning that ends the text when something was left out, else `''`. */
  warning: string
  /** Entries of the stripped index. */
  entryCount: number
  /** Entries whose line is in the text. */
  shownCount: number
  /** Whether anything was left out or cut. */
  isTruncated: boolean
  /** Files whose entry is in the text. */
  shownFileNames: ReadonlySet<string>
}

/**
 * An index within limits; its first lines when it is too large.
 *
 * @param text - index without frontmatter and comments.
 * @param limits - whole numbers of at least 1; 200 lines and 25,000 code units by default.
 * @returns trimmed text, followed by a blank line and a warning when it was cut.
 * @throws MemoryError `INVALID_ARGUMENT` for a limit that is not a number of at least 1.
 */
export function formatMemoryIndexContent(text: string, limits: IndexLimits = {}): string {
  const resolved = resolveLimits(limits)
  const trimmed = normalizedText(text).trim()
  const size = sizeOf(trimmed)
  if (fits(size, resolved)) return trimmed
  return `${cutHead(trimmed, resolved)}\n\n${renderIndexWarning(size, resolved)}`
}

/**
 * The same for an index as it is on disk: frontmatter and comments do not count.
 *
 * @param text - index file.
 * @param limits - see {@link formatMemoryIndexContent}.
 * @returns trimmed text, followed by a blank line and a warning when it was cut.
 * @throws MemoryError `INVALID_ARGUMENT` for a limit that is not a number of at least 1.
 */
export function formatProjectMemoryIndexContent(text: string, limits: IndexLimits = {}): string {
  return formatMemoryIndexContent(strippedText(text), limits)
}

/**
 * What of an index is injected.
 *
 * @param text - index file as it is on disk.
 * @param options - limits, choice and file times.
 * @returns the text and what it shows.
 * @throws MemoryError `INVALID_ARGUMENT` for a limit that is not a number of at least 1.
 */
export function viewIndex(text: string, options: IndexViewOptions): IndexView {
  const limits = resolveLimits(options)
  const body = strippedText(text).trim()
  const scan = scanIndex(body)
  const entries: ListedEntry[] = []
  for (const raw of scan.entries) {
    const fileName = decodeIndexTarget(body.slice(raw.targetStart, raw.targetEnd))
    if (fileName !== undefined) entries.push({ raw, fileName })
  }
  const size = sizeOf(body)
  if (fits(size, limits)) return toView(body, '', entries, entries)
  const recent =
    options.overflow === 'recent'
      ? selectRecent(body, entries, scan.constructs, limits, options.mtimeMsOf)
      : undefined
  const kept = recent?.text ?? cutHead(body, limits)
  const shown = recent?.shown ?? entries.filter(({ raw }) => isWhole(kept, raw))
  const warning = renderIndexWarning(size, limits, {
    shown: shown.length,
    total: entries.length,
    choice: recent === undefined ? 'first' : 'recent',
  })
  return toView(kept, warning, entries, shown)
}

/** @returns whether a cut text still has an entry's link, if not all of its hook. */
function isWhole(kept: string, entry: RawIndexEntry): boolean {
  return entry.end <= kept.length || scanIndex(kept.slice(entry.start)).entries.length > 0
}

function toView(
  body: string,
  warning: string,
  entries: readonly ListedEntry[],
  shown: readonly ListedEntry[],
): IndexView {
  return {
    text: warning === '' || body === '' ? body + warning : `${body}\n\n${warning}`,
    warning,
    entryCount: entries.length,
    shownCount: shown.length,
    isTruncated: warning !== '',
    shownFileNames: new Set(shown.map((entry) => entry.fileName)),
  }
}

function normalizedText(text: string): string {
  const bare = text.includes('\ufeff') ? text.replaceAll('\ufeff', '') : text
  return toWellFormedText(bare.includes('\r') ? bare.replaceAll(/\r\n?/g, '\n') : bare)
}

function strippedText(text: string): string {
  return stripTopLevelHtmlComments(stripLeadingFrontmatter(normalizedText(text)))
}

function sizeOf(text: string): IndexSize {
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1
  return { lines, characters: text.length }
}

function fits(size: IndexSize, limits: ResolvedIndexLimits): boolean {
  return size.lines <= limits.lineLimit && size.characters <= limits.characterLimit
}

function resolveLimits(limits: IndexLimits): ResolvedIndexLimits {
  return {
    lineLimit: limitOf('lineLimit', limits.lineLimit ?? MEMORY_INDEX_LINE_LIMIT),
    characterLimit: limitOf(
      'characterLimit',
      limits.characterLimit ?? MEMORY_INDEX_CHARACTER_LIMIT,
    ),
  }
}

function limitOf(field: keyof ResolvedIndexLimits, value: unknown): number {
  if (typeof value === 'number' && value >= 1) return Math.floor(value)
  throw new MemoryError(
    'INVALID_ARGUMENT',
    `${field} must be a number of at least 1, for instance 200`,
  )
}
