/**
 * Shapes shared by `format`, `store`, `prompt` and `tools`.
 *
 * Role: data types only, no code that runs.
 */

/** What a memory is about; the value of `metadata.type`. */
export type MemoryRecallType = 'user' | 'feedback' | 'project' | 'reference'

/** Where one project's memory lives. Absolute, normalised paths. */
export interface ProjectMemoryPaths {
  /** The memory directory, `<DSH_HOME>/memories/projects/<slug>-<hash>/memory`. */
  root: string
  /** `<root>/MEMORY.md`. */
  indexFilePath: string
  /** Readable part of the directory name. */
  slug: string
  /** First 16 hex digits of SHA-256 over `projectRoot`. */
  hash: string
  /** The project directory the name was derived from. */
  projectRoot: string
}

/** One index line to write. */
export interface IndexEntry {
  /** Shown title, as given by the caller; shortened and escaped when rendered. */
  title: string
  /** Name of the memory file, for instance `staging-rule.md`. */
  fileName: string
  /** Short description after the em dash; may be empty. */
  hook: string
}

/** Which part of an index that exceeds the limits is injected. */
export type IndexOverflow = 'recent' | 'head'

/** Limits of the injected index. */
export interface IndexLimits {
  /** Most lines, default 200. */
  lineLimit?: number
  /** Most UTF-16 code units, default 25,000. */
  characterLimit?: number
}
