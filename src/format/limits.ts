/**
 * Numbers and fixed names of the format.
 *
 * Role: the one home of every limit that more than one module needs. Lengths
 * are UTF-16 code units. Nothing here is configurable; configuration overrides
 * the index limits where the index is viewed.
 */

import type { MemoryRecallType } from '../types.ts'

/** Name of the index in a memory directory. */
export const MEMORY_INDEX_FILE_NAME = 'MEMORY.md'

/** Most lines of the index that are injected (the reference's number). */
export const MEMORY_INDEX_LINE_LIMIT = 200

/** Most code units of the index that are injected (the reference's number). */
export const MEMORY_INDEX_CHARACTER_LIMIT = 25_000

/** The four kinds of memory, in the order in which they are explained to the model. */
export const MEMORY_RECALL_TYPES: readonly MemoryRecallType[] = Object.freeze([
  'user',
  'feedback',
  'project',
  'reference',
])

/** Kind of a memory whose kind is missing or unknown. */
export const DEFAULT_MEMORY_TYPE: MemoryRecallType = 'project'

/** Most code units of one index line, its bullet included and its line ending not. */
export const INDEX_ENTRY_LENGTH_LIMIT = 200

/** Most code units of the title in an index line, escapes included. */
export const INDEX_TITLE_LENGTH_LIMIT = 80

/** Most code units of a description that is taken from a body; with a title it fits an index line. */
export const DERIVED_DESCRIPTION_LENGTH_LIMIT = 150

/** Characters of a key that its file name keeps before digits are added. */
export const MEMORY_NAME_LENGTH_LIMIT = 48

/** Most index entries whose file times are looked up; above it later lines count as newer. */
export const INDEX_RECENCY_LOOKUP_LIMIT = 5_000
