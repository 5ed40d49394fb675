/**
 * What `find` may be asked: where to start and which entries to print.
 *
 * Role: the closed list of its tests as data, and their reader. No action but
 * printing is in it, no option that follows links, and no regular expression
 * (GNU's can take hours on one name).
 */
import type { ShellWord } from './shell-tokenizer.ts'

/** Tests and operators that stand alone. */
const BARE: ReadonlySet<string> = new Set(
  '-print -print0 -empty -not -o -or -a -and -xdev -mount ( ) !'.split(' '),
)

const TEXT = /^.+$/su
const DEPTH = /^\d{1,4}$/u
const AGE = /^[+-]?\d{1,9}(?:\.\d{1,9})?$/u

/** Tests with a value. */
const VALUED: Readonly<Record<string, RegExp>> = {
  '-name': TEXT,
  '-iname': TEXT,
  '-path': TEXT,
  '-ipath': TEXT,
  '-wholename': TEXT,
  '-newer': TEXT,
  '-user': TEXT,
  '-group': TEXT,
  '-type': /^[bcdflps](?:,[bcdflps])*$/u,
  '-size': /^[+-]?\d{1,15}[bcwkMG]?$/u,
  '-perm': /^[/-]?[0-7]{1,4}$/u,
  '-maxdepth': DEPTH,
  '-mindepth': DEPTH,
  '-atime': AGE,
  '-ctime': AGE,
  '-mtime': AGE,
  '-amin': AGE,
  '-cmin': AGE,
  '-mmin': AGE,
}

/**
 * @param args - the words after `find`.
 * @returns the starting points (none: the current folder), or the problem.
 */
export function parseFind(
  args: readonly ShellWord[],
): { files: readonly ShellWord[] } | { problem: string } {
  const globbed = args.find((word) => word.pattern !== undefined)
  if (globbed !== undefined) return { problem: `put ${globbed.value} in single quotes for find` }
  const start = args.findIndex((word) => /^[-(),!]/u.test(word.value))
  const files = start === -1 ? args : args.slice(0, start)
  const rest = start === -1 ? [] : args.slice(start)
  for (let at = 0; at < rest.length; at += 1) {
    const test = rest[at]?.value ?? ''
    if (BARE.has(test)) continue
    if (!Object.hasOwn(VALUED, test))
      return { problem: `find ${test} is not in the list of allowed tests` }
    at += 1
    const value = rest[at]?.value
    if (value === undefined || VALUED[test]?.test(value) !== true) {
      return { problem: `find ${test} has no value or one that is not allowed` }
    }
  }
  return { files }
}
