/**
 * Shapes, limits and name rules of the manifest.
 *
 * Role: the vocabulary that the scanner, its file-system port and the formatter
 * share. Declares the memory types itself, because a subsystem stands alone and
 * imports nothing from the rest of the package.
 */

/** Most entries of one manifest; the newest are kept. */
export const MANIFEST_FILE_LIMIT = 200

/** Lines at the start of a file in which frontmatter is looked for. */
export const MANIFEST_PREVIEW_LINE_LIMIT = 30

/** Bytes at the start of a file that are read at most, whatever the lines are. */
export const MANIFEST_PREVIEW_BYTE_LIMIT = 64 * 1024

/** The index of a memory folder; it is not a memory, at any depth. */
const INDEX_FILE_NAME = 'MEMORY.md'

/** Folder that keeps forgotten memories; never entered, at any depth. */
const TRASH_FOLDER_NAME = '.trash'

const RECALL_TYPES = ['user', 'feedback', 'project', 'reference'] as const

/** What a memory is about. */
export type ManifestRecallType = (typeof RECALL_TYPES)[number]

/** What a directory entry or path is. */
export type ManifestEntryKind = 'file' | 'directory' | 'symlink' | 'other'

/** What the frontmatter of a memory says about it. */
export interface ManifestMetadata {
  /** One physical line, never empty. */
  description?: string
  type?: ManifestRecallType
}

/** What a reader found, unchecked: the values of three keys, of any kind. */
export interface RawMetadata {
  description?: unknown
  /** `metadata.type`. */
  nestedType?: unknown
  /** `type` at the top level, as an older layout has it. */
  topLevelType?: unknown
}

export interface ManifestEntry extends ManifestMetadata {
  /** Absolute path, as the disk spells it. */
  filePath: string
  /** Path relative to the scanned folder, with `/`, as the disk spells it. */
  filename: string
  /** Time of the last change in ms since the epoch; 0 when unknown. */
  mtimeMs: number
}

export interface ManifestPortOptions {
  signal?: AbortSignal | undefined
}

/**
 * The disk, as far as the scanner needs it. Every method may reject: the file
 * or folder in question is then left out and nothing else.
 *
 * Contract: nothing outside the scanned folder is ever shown. The scanner never
 * lists a link, so the port decides about links in `stat` and `readTextFileRange`.
 */
export interface ManifestFileSystem {
  /**
   * The direct children of a folder.
   * @returns entries whose `path` is absolute, relative to the scanned folder or a
   *   bare name; `kind` describes the entry itself, a link is `'symlink'`.
   */
  listDirectory(
    request: { path: string },
    options: ManifestPortOptions,
  ): Promise<{ entries: readonly { path: string; kind: ManifestEntryKind }[] }>
  /**
   * @returns for a link to a regular file inside the scanned folder that file's
   *   values; for every other link `kind: 'symlink'`. `mtimeMs` in ms, `size` in bytes.
   */
  stat(
    request: { path: string },
    options: ManifestPortOptions,
  ): Promise<{ kind: ManifestEntryKind; mtimeMs?: number; size?: number }>
  /**
   * @returns lines `offsetLine` (0 is the first) up to `offsetLine + limitLines`,
   *   exclusive, as text. Must not block on a FIFO or device.
   */
  readTextFileRange(
    request: { path: string; offsetLine: number; limitLines: number },
    options: ManifestPortOptions,
  ): Promise<{ content: string }>
}

/** Whether a value is exactly one of the four types. */
export function isRecallType(value: unknown): value is ManifestRecallType {
  return (RECALL_TYPES as readonly unknown[]).includes(value)
}

/** Whether a base name can be a memory: ends in `.md`, in this case, and is not the index. */
export function isMemoryFileName(name: string): boolean {
  return name.endsWith('.md') && name !== INDEX_FILE_NAME
}

/** Whether a link may lead to this path below the folder: not to the index or into the trash. */
export function isListedLinkTarget(segments: readonly string[]): boolean {
  return segments.at(-1) !== INDEX_FILE_NAME && !segments.includes(TRASH_FOLDER_NAME)
}

/** Whether the scan enters a folder of this base name. */
export function isScannedFolderName(name: string): boolean {
  return name !== TRASH_FOLDER_NAME
}
