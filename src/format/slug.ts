/**
 * From the key of a memory to its topic and its file name.
 *
 * Role: pure naming. Whether a name is taken is decided by the store, under its
 * lock, with the topics of the files that exist. Wherever a name says less than
 * its key (foreign characters, a cut, a changed edge) it gets digits of a hash,
 * so that different topics never meet in one name by design.
 */

import { createHash } from 'node:crypto'
import { MEMORY_NAME_LENGTH_LIMIT } from './limits.ts'
import { toSingleLine } from './text.ts'

/** Names that one key may have, each with `.md`. */
export interface MemoryFileNames {
  /** The name to use unless another topic has it. */
  preferred: string
  /** The cut name without digits that the original plugin gave to a long key. */
  legacy: string | undefined
  /** The same name with 12 and with 64 digits, for when another topic has the shorter one. */
  longer: [string, string]
}

const HASH_DIGITS = 6
const LONGER_HASH_DIGITS = [12, 64] as const
const FALLBACK_NAME = 'memory'
const EXTENSION = /\.md$/i
const OUTSIDE_NAME_RUN = /[^a-z0-9._-]+/g
const OUTSIDE_NAME_OR_SPACE = /[^a-z0-9._\s-]/
/** Windows treats these as devices whatever follows the first dot. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/

/**
 * The topic of a key: keys with equal topics name the same memory.
 *
 * @param key - as given by the caller, or the title of a stored memory.
 * @returns one line, NFC, lower-case, without a final `.md`, each white-space run one dash.
 */
export function topicOfKey(key: string): string {
  return comparableKey(toSingleLine(key)).replaceAll(/\s+/g, '-')
}

/**
 * File name of a key, without `.md`.
 * @param key - as given by the caller.
 * @returns one ASCII path segment of at most 64 characters.
 */
export function sanitizeMemorySlug(key: string): string {
  return nameOfKey(comparableKey(key)).withDigits(HASH_DIGITS)
}

/**
 * All names that the store may use for a key.
 * @param key - as given by the caller.
 * @returns names with `.md`; each is one ASCII path segment of at most 125 characters.
 */
export function memoryFileNames(key: string): MemoryFileNames {
  const name = nameOfKey(comparableKey(key))
  const [medium, full] = LONGER_HASH_DIGITS
  return {
    preferred: `${name.withDigits(HASH_DIGITS)}.md`,
    legacy: name.legacy === undefined ? undefined : `${name.legacy}.md`,
    longer: [`${name.withForcedDigits(medium)}.md`, `${name.withForcedDigits(full)}.md`],
  }
}

/** @returns the key without a final `.md` (unless nothing else remains), NFC, trimmed, lower-case. */
function comparableKey(key: string): string {
  const trimmed = key.normalize('NFC').trim()
  const bare = trimmed.replace(EXTENSION, '').trim()
  return (bare === '' ? trimmed : bare).toLowerCase()
}

interface Name {
  legacy: string | undefined
  withDigits(count: number): string
  withForcedDigits(count: number): string
}

function nameOfKey(key: string): Name {
  const spelled = key.replaceAll(OUTSIDE_NAME_RUN, '-')
  const stripped = spelled.replaceAll(/^-+|-+$/g, '')
  const base = stripped.slice(0, MEMORY_NAME_LENGTH_LIMIT)
  const isForeign = OUTSIDE_NAME_OR_SPACE.test(key)
  const isCut = base !== stripped
  const isChanged = isForeign || isCut || stripped !== spelled || base === ''
  /** The original plugin hashes foreign keys as given; for others blanks and dashes are one. */
  const hashed = isForeign ? key : spelled
  const withHash = (count: number): string => `${base || FALLBACK_NAME}-${digits(hashed, count)}`
  const candidate = isChanged ? withHash(HASH_DIGITS) : base
  if (isReservedName(candidate) || (spelled.startsWith('-') && !isForeign)) {
    const reserved = (count: number): string => reservedName(base, digits(hashed, count))
    return { legacy: undefined, withDigits: reserved, withForcedDigits: reserved }
  }
  return {
    legacy: isCut && !isForeign && !isReservedName(base) ? base : undefined,
    withDigits: isChanged ? withHash : () => base,
    withForcedDigits: withHash,
  }
}

/** @returns whether a name would meet the index, a device, a hidden file or an option. */
function isReservedName(name: string): boolean {
  return name === FALLBACK_NAME || WINDOWS_DEVICE.test(name) || /^[.-]|\.$/.test(name)
}

function reservedName(base: string, hash: string): string {
  const inner = base.replaceAll(/^[.-]+|[.-]+$/g, '').replaceAll('.', '-')
  return inner === '' ? `${FALLBACK_NAME}-${hash}` : `${FALLBACK_NAME}-${inner}-${hash}`
}

function digits(key: string, count: number): string {
  return createHash('sha256').update(key, 'utf8').digest('hex').slice(0, count)
}
