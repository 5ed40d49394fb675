/**
 * Names of temp files and of files moved aside, and which of them this process could not remove.
 *
 * Role: the one place that knows how these are called. The names are hidden, so
 * that no reader takes one for a memory, and cannot be guessed. A temp file is
 * litter once its process is gone; a file moved aside may be the only copy of a
 * memory, so its name tells which. Touches no disk.
 */
import { randomBytes } from 'node:crypto'
import { basename, dirname, join, sep } from 'node:path'
import { isSafeMemoryFileName } from './paths.ts'

/** Characters of the target's name that the temp name repeats, for whoever finds one. */
const READABLE_PART_LENGTH = 100

/** Random bytes of a temp name. */
const RANDOM_BYTES = 12

/** Random bytes of the name of a file moved aside; fewer, since it has the file's whole name besides. */
const ASIDE_RANDOM_BYTES = 6

/**
 * A new temp path next to a target.
 * @param target - absolute path of the file to replace.
 * @returns a path in the same directory, its name ASCII and far under 255 bytes whatever the
 *   target's name is.
 */
export function temporaryPathOf(target: string): string {
  const readable = basename(target)
    .replaceAll(/[^\w.-]/gu, '_')
    .slice(0, READABLE_PART_LENGTH)
  const name = `.${readable}.tmp-${randomBytes(RANDOM_BYTES).toString('hex')}`
  return join(dirname(target), name)
}

/** The directory in which the host's writer stages a memory that a model writes by hand. */
const HOST_STAGING = /^\..+\.md\.\d+\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.tmpdir$/u

/** @returns whether a name is one that {@link temporaryPathOf} or the host's file writer gives. */
export function isTemporaryName(name: string): boolean {
  return /^\..+\.tmp-[0-9a-f]{24}$/u.test(name) || HOST_STAGING.test(name)
}

/**
 * A new path next to a memory file, for the moment before it is removed.
 * @param path - of the file; a name of more than 235 bytes makes one that the disk refuses.
 */
export function asidePathOf(path: string): string {
  const random = randomBytes(ASIDE_RANDOM_BYTES).toString('hex')
  return join(dirname(path), `.${basename(path)}.aside-${random}`)
}

/** @returns which memory file was moved aside under a path; `undefined` for any other path. */
export function fileNameOfAside(path: string): string | undefined {
  const fileName = /^\.(.+)\.aside-[0-9a-f]{12}$/su.exec(basename(path))?.[1]
  return isSafeMemoryFileName(fileName) ? fileName : undefined
}

const leftOver = new Set<string>()

/** Note a file of ours that could not be removed or put back; see {@link leftOverIn}. */
export function noteLeftOver(path: string): void {
  leftOver.add(path)
}

/** Such files below a directory, so far. */
export function leftOverIn(directory: string): string[] {
  return [...leftOver].filter((path) => path.startsWith(directory + sep))
}

/** Forget one that is gone by now. */
export function forgetLeftOver(path: string): void {
  leftOver.delete(path)
}
