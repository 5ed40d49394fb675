/**
 * `dsh-zcode-project-memory/format`: memory files, the index and file names as text.
 *
 * Role: the names that the contract promises, and those that the store builds on.
 * Nothing here touches the disk.
 */

export { renderIndexEntry } from './index-entry.ts'
export {
  findIndexEntries,
  removeIndexEntry,
  restoreIndexEntry,
  scanIndexEntries,
  textCodec,
  upsertIndexEntries,
  upsertIndexEntry,
  utf8BytesCodec,
} from './index-file.ts'
export type { IndexCodec, IndexEntryLine, RemovedIndexEntry } from './index-file.ts'
export {
  formatMemoryIndexContent,
  formatProjectMemoryIndexContent,
  stripLeadingFrontmatter,
  stripTopLevelHtmlComments,
  viewIndex,
} from './index-view.ts'
export type { IndexView, IndexViewOptions } from './index-view.ts'
export {
  MEMORY_INDEX_CHARACTER_LIMIT,
  MEMORY_INDEX_FILE_NAME,
  MEMORY_INDEX_LINE_LIMIT,
  MEMORY_RECALL_TYPES,
} from './limits.ts'
export {
  deriveDescription,
  normalizeMemoryType,
  parseMemoryFrontmatter,
  readMemoryHeader,
  renderMemoryFile,
} from './memory-file.ts'
export type { MemoryFileContent, MemoryHeader } from './memory-file.ts'
export { memoryFileNames, sanitizeMemorySlug, topicOfKey } from './slug.ts'
export type { MemoryFileNames } from './slug.ts'
export {
  firstIllFormedIndex,
  isWellFormedText,
  toSingleLine,
  toWellFormedText,
  truncateText,
} from './text.ts'
export type { IndexEntry, IndexLimits, MemoryRecallType } from '../types.ts'
