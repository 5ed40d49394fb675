/**
 * What the verbs of `/memory` and of the shell command come to.
 *
 * Role: data only, ready for JSON (`null` where there is nothing, times in ISO
 * 8601 UTC); rendering and exit codes are derived from it. These shapes are what
 * scripts get from `--json`.
 */
import type { IndexOverflow, MemoryRecallType } from '../types.ts'

/** One memory without its content. */
export interface MemoryItem {
  fileName: string
  filePath: string
  title: string
  type: MemoryRecallType | null
  description: string | null
  /** Session that wrote it. */
  sessionId: string | null
  bytes: number
  /** When the file was written last; `null` without a file. */
  modified: string | null
  /** Whether the index has a line for it. */
  indexed: boolean
  /** Why its file cannot be read: one line, or `missing`. */
  problem: string | null
}

/** All memories, most recently written first. */
export interface ListOutcome {
  kind: 'list'
  project: string
  directory: string
  /** Whether the project has a memory directory. */
  exists: boolean
  /** Why the index cannot be read. */
  indexProblem: string | null
  /** The nearest directory above the project that has a memory; looked for only without one here. */
  memoryAbove: string | null
  memories: MemoryItem[]
}

/** One memory whole. */
export interface ShowOutcome {
  kind: 'show'
  memory: MemoryItem
  /** What follows the frontmatter, as it is in the file. */
  body: string
}

/** Where words were found. */
export type MatchedPart = 'title' | 'description' | 'body'

/** A memory that was found, with a line of it around the first match. */
export interface SearchMatch extends MemoryItem {
  matched: MatchedPart[]
  excerpt: string
}

/** Best match first. */
export interface SearchOutcome {
  kind: 'search'
  words: string
  /** How many memories were looked through. */
  searched: number
  memories: SearchMatch[]
}

/** A memory that is gone. */
export interface ForgetOutcome {
  kind: 'forget'
  fileName: string
  title: string
  /** Until when it can be had back; `null` when nothing was kept. */
  undoUntil: string | null
}

/** A memory that is back. */
export interface UndoOutcome {
  kind: 'undo'
  fileName: string
  filePath: string
  title: string
}

/** A name, as far as it takes to show it. */
export type NamedMemory = Pick<MemoryItem, 'fileName' | 'title'>

/** No memory of that name, or several; `name` is `null` where the last one was meant. */
export interface MissingOutcome {
  kind: 'missing' | 'ambiguous'
  verb: 'show' | 'forget' | 'undo'
  name: string | null
  /** The closest names, or all that were meant; for `undo` what was forgotten last. */
  candidates: NamedMemory[]
}

/** Characters are UTF-16 code units, tokens an estimate. */
export interface TextSize {
  characters: number
  tokens: number
}

/**
 * Why a line of the index was not given.
 *
 * - `over-limit`: it did not fit. `cut`: only its beginning did.
 * - `comment`, `frontmatter`: never given.
 */
export type OmissionReason = 'over-limit' | 'cut' | 'comment' | 'frontmatter'

/** What a session's model was given. */
export interface WhyOutcome {
  kind: 'why'
  /** The session that asks, or one that would start now. */
  audience: 'session' | 'new-session'
  project: string
  indexFile: string
  given: 'none' | 'inherited' | 'absent' | 'unreadable' | 'shown'
  /** Why the index is unreadable. */
  reason: string | null
  guidance: TextSize
  index: TextSize
  entries: { shown: number; total: number }
  limits: { lines: number; characters: number; overflow: IndexOverflow }
  /** Lines of the index that are not blank, as the model sees them. */
  shown: string[]
  omitted: { line: string; reason: OmissionReason }[]
}

/** One thing that is not as it should be; `repair` is `null` when a person has to act. */
export interface FindingItem {
  code: string
  path: string
  fileName: string | null
  message: string
  repair: string | null
}

/** What doctor found; with `fix` what it mended and what is left. */
export interface DoctorOutcome {
  kind: 'doctor'
  directory: string
  findings: FindingItem[]
  /** `null` when nothing was to be mended. */
  repaired: FindingItem[] | null
  remaining: FindingItem[]
}

/** Where everything is. */
export interface WhereOutcome {
  kind: 'where'
  project: string
  home: string
  directory: string
  exists: boolean
  indexFile: string
  trash: string
  memories: number
  /** How many forgotten memories can be had back. */
  inTrash: number
  /** Memory directory of another spelling of the path, which is not used; `null` without one. */
  otherDirectory: string | null
}

/** One file of another program. */
export interface ImportedItem {
  fileName: string
  title: string
  bytes: number
  modified: string | null
  state: 'new' | 'present' | 'differs' | 'refused'
  reason: string | null
}

/** A preview of an import, or what it did. */
export interface ImportOutcome {
  kind: 'import'
  program: string
  /** `null` when there is no such folder. */
  source: string | null
  /** Whether the folder is known to be this project's. */
  isThisProject: boolean
  /** Paths of other projects whose sessions share the folder. */
  otherProjects: string[]
  /** Whether files were copied; else this is the preview. */
  applied: boolean
  /** Whether it was asked to copy but cannot tell whose folder it is. */
  needsFolder: boolean
  directory: string
  items: ImportedItem[]
}

/** An export; `file` is `null` when it went to the standard output. */
export interface ExportOutcome {
  kind: 'export'
  file: string | null
  format: 'markdown' | 'json'
  memories: number
  /** Memories that cannot be read and are left out. */
  skipped: { fileName: string; problem: string }[]
}

/** A failure with a stable code; one line. */
export interface FailureOutcome {
  kind: 'failure'
  code: string
  message: string
}

/** Anything that a verb comes to. */
export type Outcome =
  | ListOutcome
  | ShowOutcome
  | SearchOutcome
  | ForgetOutcome
  | UndoOutcome
  | MissingOutcome
  | WhyOutcome
  | DoctorOutcome
  | WhereOutcome
  | ImportOutcome
  | ExportOutcome
  | FailureOutcome
