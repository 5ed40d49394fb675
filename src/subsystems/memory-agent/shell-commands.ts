/**
 * The commands of the memory agent's shell and every option they may be given.
 *
 * Role: data, and the one parser that reads arguments by it. Knows nothing of
 * paths. The lists are closed and without abbreviations; left out on purpose is
 * what writes, runs something, follows a file for ever, follows links while
 * recursing, or takes file names from a file. An option that GNU and BSD read
 * differently is listed only if both readings are harmless.
 */
import type { ShellWord } from './shell-tokenizer.ts'

/** Commands that only read; `rm` has rules of its own. */
export const READ_ONLY_BASH_COMMANDS: readonly string[] = Object.freeze([
  'ls',
  'find',
  'cat',
  'stat',
  'wc',
  'head',
  'tail',
  'grep',
])

/** One command's closed list. */
export interface CommandSpec {
  /** Letters of options without a value; they may be joined. */
  flags: string
  /** Letters of options with a value, attached or as the next word. */
  valued?: Readonly<Record<string, RegExp>>
  /** Long options without a value. */
  longFlags?: readonly string[]
  /** Long options with a value, after `=` or as the next word. */
  longValued?: Readonly<Record<string, RegExp>>
  /** Long options whose value may be left out and otherwise stands after `=`. */
  longOptional?: Readonly<Record<string, RegExp>>
  /** Whether `-5` means `-n 5` (or five lines of context). */
  takesCount?: boolean
  /** Options that make it walk a tree. */
  recursive?: readonly string[]
  /** Options that give the search pattern; without them the first operand is it. */
  patternOptions?: readonly string[]
  /** Whether it works without naming a file: in the current folder. */
  mayOmitFile?: boolean
  /** Whether it opens its operands, so that a FIFO would block it. */
  opens?: boolean
  /** Whether unquoted `*`, `?` and `[…]` may stand in its operands. */
  globs?: boolean
}

const NUMBER = /^\d{1,9}$/u
/** Lines or bytes with the multipliers of GNU; a sign counts from the other end. */
const AMOUNT = /^[+-]?\d{1,15}(?:b|kB|[KMGTPE](?:i?B)?)?$/u
const TEXT = /^.*$/su
/** What `stat` prints: widths of at most three digits, since they are filled with blanks, and 100 of them. */
const FORMAT = /^(?!.*%[^%A-Za-z]*\d{4})[^%]*(?:%[^%]*){0,100}$/su
const COLOR = /^(?:always|never|auto)$/u

/** By command name; `find` has a grammar instead, in `shell-find.ts`. */
export const COMMANDS: Readonly<Record<string, CommandSpec>> = {
  ls: {
    flags: 'aABbcCdfFgGhiklmnNopqQrRsStuUvxXZ1',
    longFlags: words(
      'all almost-all author directory escape file-type full-time group-directories-first',
      'human-readable inode kibibytes literal no-group numeric-uid-gid quote-name recursive',
      'reverse si size',
    ),
    longValued: {
      'block-size': /^[\w']{1,20}$/u,
      format: /^(?:across|commas|horizontal|long|single-column|verbose|vertical)$/u,
      'indicator-style': /^(?:none|slash|file-type|classify)$/u,
      sort: /^(?:none|size|time|version|extension|width|name)$/u,
      time: /^(?:atime|access|use|ctime|status|birth|creation|mtime|modification)$/u,
      'time-style': /^(?:full-iso|long-iso|iso|locale|\+[^\n]*)$/u,
    },
    longOptional: { color: COLOR },
    recursive: ['R', 'recursive'],
    mayOmitFile: true,
    globs: true,
  },
  cat: {
    flags: 'AbeEnstTuv',
    longFlags: words(
      'number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank',
    ),
    opens: true,
    globs: true,
  },
  stat: {
    flags: 'Lft',
    valued: { c: FORMAT },
    longFlags: ['dereference', 'file-system', 'terse'],
    longValued: { format: FORMAT, printf: FORMAT },
  },
  wc: {
    flags: 'clLmw',
    longFlags: ['bytes', 'chars', 'lines', 'max-line-length', 'words'],
    longValued: { total: /^(?:auto|always|only|never)$/u },
    opens: true,
    globs: true,
  },
  head: {
    flags: 'qvz',
    valued: { c: AMOUNT, n: AMOUNT },
    longFlags: ['quiet', 'silent', 'verbose', 'zero-terminated'],
    longValued: { bytes: AMOUNT, lines: AMOUNT },
    takesCount: true,
    opens: true,
    globs: true,
  },
  tail: {
    flags: 'qvz',
    valued: { c: AMOUNT, n: AMOUNT },
    longFlags: ['quiet', 'silent', 'verbose', 'zero-terminated'],
    longValued: { bytes: AMOUNT, lines: AMOUNT },
    takesCount: true,
    opens: true,
  },
  grep: {
    flags: 'abcEFGhHiIlLnoqrsvwxy',
    valued: { A: NUMBER, B: NUMBER, C: NUMBER, e: TEXT, m: NUMBER },
    longFlags: words(
      'basic-regexp byte-offset count extended-regexp files-with-matches files-without-match',
      'fixed-strings ignore-case invert-match line-buffered line-number line-regexp',
      'no-filename no-ignore-case no-messages only-matching quiet recursive silent text',
      'with-filename word-regexp',
    ),
    longValued: {
      'after-context': NUMBER,
      'before-context': NUMBER,
      context: NUMBER,
      exclude: TEXT,
      'exclude-dir': TEXT,
      include: TEXT,
      'max-count': NUMBER,
      regexp: TEXT,
    },
    longOptional: { color: COLOR, colour: COLOR },
    takesCount: true,
    recursive: ['r', 'recursive'],
    patternOptions: ['e', 'regexp'],
    opens: true,
    globs: true,
  },
}

/** Arguments of one command, read by its list. */
export interface ParsedArguments {
  /** File operands, without grep's pattern. */
  files: readonly ShellWord[]
  /** Operands that stand after a `--`. */
  afterEnd: ReadonlySet<ShellWord>
  /** grep's pattern when it is an operand. */
  patternOperand?: ShellWord
  /** Values of options. */
  values: readonly string[]
  recursive: boolean
}

/**
 * Reads arguments as GNU getopt does, options also after operands.
 * @param name - shown in problems.
 * @param spec - the command's closed list.
 * @param args - the words after the command.
 * @returns the problem names the option that is not in the list or its wrong value.
 */
export function parseArguments(
  name: string,
  spec: CommandSpec,
  args: readonly ShellWord[],
): ParsedArguments | { problem: string } {
  const operands: ShellWord[] = []
  const afterEnd = new Set<ShellWord>()
  const values: string[] = []
  const seen = new Set<string>()
  const queue = args.toReversed()
  for (let word = queue.pop(); word !== undefined; word = queue.pop()) {
    if (word.value === '--' && word.pattern === undefined) {
      for (const rest of queue.toReversed()) afterEnd.add(rest)
      operands.push(...afterEnd)
      break
    }
    if (!word.value.startsWith('-') || word.value === '-') {
      operands.push(word)
      continue
    }
    if (word.pattern !== undefined) return { problem: `put ${word.value} in single quotes` }
    const option = readOption(spec, word.value)
    if (option === undefined)
      return { problem: `${name} ${word.value} is not in the list of allowed options` }
    for (const letter of option.names) seen.add(letter)
    if (option.rule === undefined) continue
    const value = option.value === undefined ? queue.pop() : option.value
    const text = typeof value === 'object' ? value.value : value
    const expanded = typeof value === 'object' && value.pattern !== undefined
    if (text === undefined || expanded || !option.rule.test(text)) {
      return { problem: `${name} ${word.value} has no value or one that is not allowed` }
    }
    values.push(text)
  }
  const given = (list: readonly string[] | undefined) => list?.some((o) => seen.has(o)) ?? false
  const parsed = { afterEnd, values, recursive: given(spec.recursive) }
  if (spec.patternOptions === undefined || given(spec.patternOptions)) {
    return { ...parsed, files: operands }
  }
  const [patternOperand, ...files] = operands
  return patternOperand === undefined
    ? { problem: `${name} needs a pattern` }
    : { ...parsed, patternOperand, files }
}

/** Names of the options in one word, and how the value of the last is checked. */
interface ReadOption {
  names: readonly string[]
  rule?: RegExp
  /** Attached value; absent: the next word. */
  value?: string
}

function readOption(spec: CommandSpec, text: string): ReadOption | undefined {
  if (text.startsWith('--')) return readLongOption(spec, text.slice(2))
  if (spec.takesCount === true && NUMBER.test(text.slice(1))) return { names: [] }
  const names: string[] = []
  for (let at = 1; at < text.length; at += 1) {
    const letter = text.charAt(at)
    names.push(letter)
    const rule = own(spec.valued, letter)
    if (rule !== undefined) {
      const value = text.slice(at + 1)
      return value === '' ? { names, rule } : { names, rule, value }
    }
    if (!spec.flags.includes(letter)) return undefined
  }
  return { names }
}

function readLongOption(spec: CommandSpec, text: string): ReadOption | undefined {
  const at = text.indexOf('=')
  const name = at === -1 ? text : text.slice(0, at)
  const names = [name]
  if (at === -1) {
    const optional = own(spec.longOptional, name) !== undefined
    if (optional || spec.longFlags?.includes(name) === true) return { names }
    const rule = own(spec.longValued, name)
    return rule === undefined ? undefined : { names, rule }
  }
  const rule = own(spec.longValued, name) ?? own(spec.longOptional, name)
  return rule === undefined ? undefined : { names, rule, value: text.slice(at + 1) }
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

function words(...lines: string[]): string[] {
  return lines.join(' ').split(' ')
}
