/**
 * Which places the words of a shell command may lead to.
 *
 * Role: keeps kernel file systems out of reach (they hold the environment of
 * processes, and files without an end) and predicts what an unquoted pattern
 * can expand to. Reads directory entries and links, opens nothing. The
 * prediction may be wider than the shell's own, never narrower.
 */
import { isUtf8 } from 'node:buffer'
import { readdirSync } from 'node:fs'
import { isAbsolute, join, posix, resolve } from 'node:path'
import { lookAt, walkPath } from './paths.ts'
import { BRACKET, WILDCARD } from './shell-tokenizer.ts'

/** Kernel file systems; compared ignoring case, as some file systems do. */
const KERNEL_PLACES: readonly string[] = ['/proc', '/dev', '/sys']

/**
 * Work for one pattern; more is not predicted but refused. A look at a name costs 1,
 * following it {@link WALK_COST}: a quarter of a second in all, as the caller waits.
 */
const GLOB_BUDGET = 20_000
const WALK_COST = 20

/** How a word is used, as far as its place matters. */
export interface PlaceUse {
  /** The command walks the tree below it. */
  recursive?: boolean | undefined
  /** The command opens it. */
  opens?: boolean | undefined
  /** It may be text that is searched, so it may begin like a network path. */
  isText?: boolean | undefined
}

/**
 * Checks one word as if it named a file, which any word might.
 * @param cwd - absolute directory the command runs in.
 * @param word - after quote removal, without a pattern.
 * @returns the problem, if there is one.
 */
export function problemOfPlace(cwd: string, word: string, use: PlaceUse = {}): string | undefined {
  if (word.startsWith('~')) return `${word} starts with ~; write the whole path`
  if (use.isText !== true && /^(?:\/\/|\\\\)[^/\\\s]/u.test(word))
    return `${word} looks like a network path`
  const written = posix.normalize(word.replaceAll('\\', '/'))
  const asWritten = isAbsolute(word) ? word : `${cwd}/${word}`
  const walk = walkPath(asWritten)
  if (walk === undefined) return `where ${word} leads cannot be checked`
  const places = [written, resolve(cwd, word), walk.target]
  if ([...places, ...walk.visited].some(isKernelPlace)) {
    return `${word} leads into ${KERNEL_PLACES.join(', ')}, which are out of bounds`
  }
  if (use.recursive === true && places.some(holdsKernelPlace)) {
    return `${word} is too high up to search recursively; start in a folder of the project`
  }
  const found = use.opens === true ? lookAt(walk.target) : 'missing'
  if (typeof found !== 'string' && !found.isFile() && !found.isDirectory()) {
    return `${word} is not a regular file`
  }
  return undefined
}

/**
 * Checks a word with an unquoted pattern and everything it can expand to.
 * @param cwd - absolute directory the command runs in.
 * @param pattern - see `ShellWord.pattern`.
 * @param use - `afterEnd`: no expansion can be taken for an option any more.
 * @returns the problem, if there is one.
 */
export function problemOfPattern(
  cwd: string,
  pattern: string,
  use: PlaceUse & { afterEnd: boolean },
): string | undefined {
  if (!/^(?!-)[^/\\]/u.test(pattern) || pattern.includes('..')) {
    return 'an unquoted pattern must be a relative path without ..'
  }
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.some((part) => part.startsWith('.') && isPattern(part))) {
    return 'an unquoted pattern for hidden names is not allowed'
  }
  if (!use.afterEnd && !/^(?:[\p{L}\p{N}]|\.\/)/u.test(pattern)) {
    const names = entriesOf(cwd)
    if (names === undefined) return 'the current folder cannot be read'
    if (names.some((entry) => entry.name.startsWith('-'))) {
      return 'a file here starts with -; begin the pattern with ./'
    }
  }
  const [first = ''] = parts
  // A name of - alone is standard input, also after --.
  const mayBeDash = parts.length === 1 && !pattern.startsWith('./') && mayMatch(first, '-')
  if (mayBeDash && lookAt(join(cwd, '-')) !== 'missing') {
    return 'a file here is called -; begin the pattern with ./'
  }
  const budget = { left: GLOB_BUDGET }
  return problemOfExpansion({ directory: cwd, parts, use, budget })
}

interface Entry {
  name: string
  isFile: () => boolean
  /** Whether the name is not UTF-8: then `name` is only similar to it. */
  isUnclear: boolean
}

/** One level of a pattern. */
interface Level {
  directory: string
  parts: readonly string[]
  use: PlaceUse
  budget: { left: number }
}

function problemOfExpansion({ directory, parts, use, budget }: Level): string | undefined {
  const [part, ...deeper] = parts
  if (part === undefined) return undefined
  const literal = !isPattern(part)
  const entries = literal
    ? [{ name: part, isFile: () => false, isUnclear: false }]
    : entriesOf(directory)
  if (entries === undefined) return 'a folder in the pattern cannot be read'
  for (const entry of entries) {
    const walked = !entry.isFile() && (literal || mayMatch(part, entry.name))
    budget.left -= walked ? WALK_COST : 1
    if (budget.left < 0) return 'the pattern matches too much'
    if (!walked) continue
    if (entry.isUnclear) return 'a name in the pattern is not UTF-8; name the files instead'
    const last = deeper.length === 0
    const problem =
      problemOfPlace(directory, `./${entry.name}`, last ? use : {}) ??
      problemOfExpansion({ directory: join(directory, entry.name), parts: deeper, use, budget })
    if (problem !== undefined) return problem
  }
  return undefined
}

function isPattern(part: string): boolean {
  return part.includes(WILDCARD) || part.includes(BRACKET)
}

/** Whether the literal stretches of a part occur in a name in order; a bracket may be anything. */
function mayMatch(part: string, name: string): boolean {
  const bracket = part.indexOf(BRACKET)
  const known = bracket === -1 ? part : `${part.slice(0, bracket)}${WILDCARD}`
  const [head = '', ...stretches] = known.split(WILDCARD)
  if (!name.startsWith(head) || (head === '' && name.startsWith('.'))) return false
  const tail = stretches.pop() ?? ''
  let at = head.length
  for (const stretch of stretches) {
    const found = name.indexOf(stretch, at)
    if (found === -1) return false
    at = found + stretch.length
  }
  return name.length - tail.length >= at && name.endsWith(tail)
}

/** @returns nothing in a directory that is not there, `undefined` when it cannot be told. */
function entriesOf(directory: string): readonly Entry[] | undefined {
  try {
    const found = readdirSync(directory, { encoding: 'buffer', withFileTypes: true })
    return found.map((item) => ({
      name: item.name.toString('utf8'),
      isFile: () => item.isFile(),
      isUnclear: !isUtf8(item.name),
    }))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOENT' || code === 'ENOTDIR' ? [] : undefined
  }
}

function isKernelPlace(path: string): boolean {
  const folded = path.toLowerCase()
  return KERNEL_PLACES.some((place) => folded === place || folded.startsWith(`${place}/`))
}

function holdsKernelPlace(path: string): boolean {
  const prefix = path.endsWith('/') ? path : `${path}/`
  return KERNEL_PLACES.some((place) => place.startsWith(prefix.toLowerCase()))
}
