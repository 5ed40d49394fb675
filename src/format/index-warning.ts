/**
 * The line below an index that does not fit.
 *
 * Role: the wording, and how sizes are written. Begins with the word `WARNING`,
 * which people search for. Lives here and not in `prompt`, because `prompt`
 * builds on `format`.
 */

import { MEMORY_INDEX_FILE_NAME } from './limits.ts'

/** Size of a whole index, in lines and UTF-16 code units. */
export interface IndexSize {
  lines: number
  characters: number
}

/** Limits with every value present. */
export interface ResolvedIndexLimits {
  lineLimit: number
  characterLimit: number
}

/** How many entries of how many are shown, and which. */
export interface ShownEntries {
  shown: number
  total: number
  choice: 'first' | 'recent'
}

const UNIT = 1024
const UNITS = ['KB', 'MB', 'GB'] as const

/**
 * The warning for an index that was cut.
 *
 * @param size - size of the whole index.
 * @param limits - the limits it exceeds.
 * @param entries - counts, when the text has entries.
 * @returns one quoted line.
 */
export function renderIndexWarning(
  size: IndexSize,
  limits: ResolvedIndexLimits,
  entries?: ShownEntries,
): string {
  return [
    `> WARNING: ${MEMORY_INDEX_FILE_NAME} is ${sizeDescription(size, limits)}.`,
    entries === undefined || entries.total === 0
      ? 'Only a part of it is shown above.'
      : `${entries.shown} of its ${entries.total} entries are shown above (${choiceText(entries)}).`,
    `The rest is in \`${MEMORY_INDEX_FILE_NAME}\`; read that file for it.`,
    'To make it fit, forget or merge memories that are out of date, give each one line of less',
    'than about 200 characters, and put the details into the memory files.',
  ].join(' ')
}

function choiceText(entries: ShownEntries): string {
  return entries.choice === 'recent' ? 'those written last' : 'the first in the file'
}

function sizeDescription(size: IndexSize, limits: ResolvedIndexLimits): string {
  const hasTooManyLines = size.lines > limits.lineLimit
  const hasTooManyCharacters = size.characters > limits.characterLimit
  const characters = formatSize(size.characters)
  if (hasTooManyLines && hasTooManyCharacters) return `${size.lines} lines and ${characters}`
  if (hasTooManyLines) return `${size.lines} lines (limit: ${limits.lineLimit})`
  return `${characters} (limit: ${formatSize(limits.characterLimit)}), its entries are too long`
}

/**
 * A size as the reference writes it.
 * @param characters - UTF-16 code units, counted in steps of 1,024.
 * @returns for instance `24.4KB`, `25KB` or `900 bytes`.
 */
export function formatSize(characters: number): string {
  if (characters < UNIT) return `${characters} bytes`
  let value = characters / UNIT
  let unit = 0
  while (value >= UNIT && unit < UNITS.length - 1) {
    value /= UNIT
    unit += 1
  }
  return `${value.toFixed(1).replace(/\.0$/, '')}${UNITS[unit] ?? ''}`
}
