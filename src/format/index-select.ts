/**
 * Choosing what stays of an index that does not fit.
 *
 * Role: two choices over stripped, trimmed text, both within the limits by
 * construction. Entries come first because they are what the index is for; the
 * lines between them fill what is left. A code fence or comment stays whole or
 * goes whole, so that what follows is not read as its content.
 */

import type { RawIndexEntry } from './index-line.ts'
import type { IndexConstruct } from './index-scan.ts'
import type { ResolvedIndexLimits } from './index-warning.ts'
import { INDEX_RECENCY_LOOKUP_LIMIT } from './limits.ts'
import { safeCut } from './text.ts'

/** An entry with the file it names. */
export interface ListedEntry {
  raw: RawIndexEntry
  fileName: string
}

/** Lines that stay or go together. */
interface Unit {
  start: number
  /** After the last character, its line ending left out. */
  end: number
  entry: ListedEntry | undefined
}

/**
 * The first lines of a text.
 *
 * @param text - text over at least one limit.
 * @param limits - most lines and code units.
 * @returns its beginning, cut at a line end, within a line only when that line
 * alone is too long.
 */
export function cutHead(text: string, limits: ResolvedIndexLimits): string {
  let end = text.length
  let lineEnd = -1
  for (let count = 0; count < limits.lineLimit; count += 1) {
    lineEnd = text.indexOf('\n', lineEnd + 1)
    if (lineEnd === -1) break
  }
  if (lineEnd !== -1) end = lineEnd
  if (end > limits.characterLimit) {
    const lastBreak = text.lastIndexOf('\n', limits.characterLimit)
    end = lastBreak > 0 ? lastBreak : safeCut(text, limits.characterLimit)
  }
  return text.slice(0, end)
}

/**
 * The entries that were written last, in text order, with the other lines that fit.
 *
 * @param text - text over at least one limit.
 * @param entries - its entries.
 * @param constructs - its fences and comments.
 * @param limits - most lines and code units.
 * @param mtimeMsOf - when a file was written; missing files count as oldest.
 * @returns the text and the entries in it; `undefined` when no entry fits.
 */
export function selectRecent(
  text: string,
  entries: readonly ListedEntry[],
  constructs: readonly IndexConstruct[],
  limits: ResolvedIndexLimits,
  mtimeMsOf?: (fileName: string) => number | undefined,
): { text: string; shown: ListedEntry[] } | undefined {
  const units = unitsOf(text, entries, constructs)
  const byEntry = new Map(units.map((unit) => [unit.entry, unit]))
  const chosen: Unit[] = []
  let lines = limits.lineLimit
  let characters = limits.characterLimit + 1
  const take = (unit: Unit): boolean => {
    const unitCharacters = unit.end - unit.start + 1
    if (unitCharacters > characters || lines < 1) return false
    const unitLines = countLines(text, unit)
    if (unitLines > lines) return false
    lines -= unitLines
    characters -= unitCharacters
    chosen.push(unit)
    return true
  }
  for (const entry of newestFirst(entries, mtimeMsOf)) {
    const unit = byEntry.get(entry)
    if (unit !== undefined && !take(unit)) take({ ...unit, end: lineTextEnd(text, entry.raw) })
  }
  if (chosen.length === 0) return undefined
  for (const unit of units) if (unit.entry === undefined && !isBlank(text, unit)) take(unit)
  for (const unit of units) if (unit.entry === undefined && isBlank(text, unit)) take(unit)
  chosen.sort((one, other) => one.start - other.start)
  return {
    text: chosen.map((unit) => text.slice(unit.start, unit.end)).join('\n'),
    shown: chosen.flatMap((unit) => unit.entry ?? []),
  }
}

function newestFirst(
  entries: readonly ListedEntry[],
  mtimeMsOf?: (fileName: string) => number | undefined,
): ListedEntry[] {
  const laterFirst = entries.toReversed()
  if (mtimeMsOf === undefined || entries.length > INDEX_RECENCY_LOOKUP_LIMIT) return laterFirst
  const times = new Map<string, number>()
  const dated = laterFirst.map((entry) => {
    const timeMs = times.get(entry.fileName) ?? timeOrOldest(mtimeMsOf(entry.fileName))
    times.set(entry.fileName, timeMs)
    return { entry, timeMs }
  })
  dated.sort((one, other) => (one.timeMs === other.timeMs ? 0 : other.timeMs > one.timeMs ? 1 : -1))
  return dated.map(({ entry }) => entry)
}

function timeOrOldest(timeMs: number | undefined): number {
  return timeMs === undefined || Number.isNaN(timeMs) ? -Infinity : timeMs
}

function unitsOf(
  text: string,
  entries: readonly ListedEntry[],
  constructs: readonly IndexConstruct[],
): Unit[] {
  const blocks = [
    ...entries.map((entry) => ({ start: entry.raw.start, end: entry.raw.blockEnd, entry })),
    ...constructs.map(({ start, end }) => ({ start, end, entry: undefined })),
  ].sort((one, other) => one.start - other.start)
  const units: Unit[] = []
  let position = 0
  const addLines = (end: number): void => {
    while (position < end) {
      const lineFeed = text.indexOf('\n', position)
      const lineEnd = lineFeed === -1 ? text.length : lineFeed
      units.push({ start: position, end: lineEnd, entry: undefined })
      position = lineEnd + 1
    }
  }
  for (const block of blocks) {
    if (block.start < position) continue
    addLines(block.start)
    const endsWithBreak = text.charAt(block.end - 1) === '\n'
    units.push({ ...block, end: endsWithBreak ? block.end - 1 : block.end })
    position = block.end
  }
  addLines(text.length)
  return units
}

function lineTextEnd(text: string, entry: RawIndexEntry): number {
  return text.charAt(entry.end - 1) === '\n' ? entry.end - 1 : entry.end
}

function countLines(text: string, unit: Unit): number {
  let lines = 1
  for (let at = text.indexOf('\n', unit.start); at !== -1 && at < unit.end; lines += 1) {
    at = text.indexOf('\n', at + 1)
  }
  return lines
}

function isBlank(text: string, unit: Unit): boolean {
  return text.slice(unit.start, unit.end).trim() === ''
}
