import type { FileSystem } from '../../src/store/file-system.ts'

/** One call, told before it happens. */
export interface FileSystemCall {
  /** Counted from 1. */
  position: number
  /** Method of `node:fs/promises`, or `handle.` and the method of a file handle. */
  name: string
  /** The path it is about; for a handle the one that was opened. */
  path: string
  /** The new path of a `rename` or `link`. */
  to?: string
}

/** Called before each call: throws to fail it, returns a promise to hold it up. */
export type Hook = (call: FileSystemCall) => void | Promise<void>

/** A watched file system. */
export interface WatchedFileSystem {
  fileSystem: FileSystem
  /** All calls so far, failed ones included. */
  calls: FileSystemCall[]
  /** The hook; may be replaced at any time. */
  before: Hook
}

export function systemError(errno: string, syscall: string, path: string): NodeJS.ErrnoException
export function watchFileSystem(before?: Hook): WatchedFileSystem
export function failMatching(
  isMatch: (call: FileSystemCall) => boolean,
  errno: string,
  times?: number,
): (call: FileSystemCall) => void
export function signalAt(
  positionOrMatch: number | ((call: FileSystemCall) => boolean),
  signal: NodeJS.Signals,
): Hook
