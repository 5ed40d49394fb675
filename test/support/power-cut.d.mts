import type { FileSystem } from '../../src/store/file-system.ts'

/** What a change did, step by step. */
export interface Recording {
  steps: readonly unknown[]
}

/** Relative path to content; `undefined` for a directory. Parents come before what is in them. */
export type Tree = ReadonlyMap<string, Buffer | undefined>

/** What a power cut may leave. */
export interface CrashState {
  tree: Tree
  /** Whether every step of the change was over. */
  hasEnded: boolean
}

export function recordFileSystem(
  root: string,
  real?: FileSystem,
): Promise<{ fileSystem: FileSystem; recording: Recording }>
export function crashStates(recording: Recording): CrashState[]
export function rebuild(tree: Tree, folder: string): Promise<void>
