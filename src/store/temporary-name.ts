/**
 * Names of temp files, and which of them this process could not remove.
 *
 * Role: the one place that knows how a temp file is called. The names are
 * hidden, so that no reader takes one for a memory, and cannot be guessed.
 * Touches no disk.
 */
import { randomBytes } from 'node:crypto'
import { basename, dirname, join, sep } from 'node:path'

/** Characters of the target's name that the temp name repeats, for whoever finds one. */
const READABLE_PART_LENGTH = 100

/** Random bytes of a temp name. */
const RANDOM_BYTES = 12

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

const leftOver = new Set<string>()

/** Note a temp file of ours that could not be removed; see {@link leftOverIn}. */
export function noteLeftOver(path: string): void {
  leftOver.add(path)
}

/** The temp files below a directory that this process could not remove so far. */
export function leftOverIn(directory: string): string[] {
  return [...leftOver].filter((path) => path.startsWith(directory + sep))
}

/** Forget a temp file that is gone by now. */
export function forgetLeftOver(path: string): void {
  leftOver.delete(path)
}
