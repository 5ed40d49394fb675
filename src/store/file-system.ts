/**
 * The file-system calls that the store makes, as one replaceable object.
 *
 * Role: the single seam for fault injection; nothing in `store` calls
 * `node:fs/promises` directly. It is a subset of that module with the same
 * signatures, so that the real module is the default. Does not add behaviour.
 */
import * as nodeFileSystem from 'node:fs/promises'

/** The subset of `node:fs/promises` in use; errors are those of Node (`code`, `syscall`, `path`). */
export type FileSystem = Pick<
  typeof nodeFileSystem,
  | 'chmod'
  | 'link'
  | 'lstat'
  | 'mkdir'
  | 'open'
  | 'readdir'
  | 'realpath'
  | 'rename'
  | 'rm'
  | 'rmdir'
  | 'unlink'
  | 'utimes'
>

/** The real disk. */
export const localFileSystem: FileSystem = nodeFileSystem
