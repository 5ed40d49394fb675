/**
 * Decides whether a shell command only reads.
 *
 * Role: pipes, redirections, which words are files, and patterns; the lists of
 * `shell-commands.ts` and `shell-find.ts` decide about options. Decides from
 * the parsed words, never by searching the raw text, and refuses what the
 * parser does not understand. Which program a name starts is left to `PATH`.
 */
import {
  COMMANDS,
  parseArguments,
  READ_ONLY_BASH_COMMANDS,
  type ParsedArguments,
} from './shell-commands.ts'
import { parseFind } from './shell-find.ts'
import { problemOfPattern, problemOfPlace, type PlaceUse } from './shell-paths.ts'
import { tokenizeCommand, type ShellWord } from './shell-tokenizer.ts'

/**
 * Largest size of the patterns of a command with their repetitions written out, in characters: the
 * GNU library writes them out, and nested ones took gigabytes.
 */
const MAX_PATTERN_SIZE = 10_000

/** Words with unquoted patterns in one command; each is expanded here while the caller waits. */
const MAX_PATTERNS = 8

/** One command of a pipe. */
export interface ShellStage {
  name: string
  args: readonly ShellWord[]
  /** How many redirections it has. */
  redirections: number
}

/**
 * Splits a command into the stages of its pipe.
 * @param command - as the model wrote it.
 * @returns at least one stage, or why it is not understood.
 */
export function parsePipe(
  command: string,
): { stages: readonly ShellStage[] } | { problem: string } {
  const read = tokenizeCommand(command)
  if ('problem' in read) return read
  if (read.tokens.length === 0) return { problem: 'the command is empty' }
  const stages: ShellStage[] = []
  let words: ShellWord[] = []
  let redirections = 0
  for (const token of [...read.tokens, { kind: 'pipe' as const }]) {
    if (token.kind === 'word') words.push(token)
    else if (token.kind === 'redirection' && words.length > 0) redirections += 1
    else {
      const [first, ...args] = words
      if (first === undefined) return { problem: 'a command is missing before | or 2>' }
      const plain = !first.quoted && first.pattern === undefined
      if (!plain) return { problem: 'write the name of the command without quotes and patterns' }
      stages.push({ name: first.value, args, redirections })
      words = []
      redirections = 0
    }
  }
  return { stages }
}

/**
 * Looks for anything in a pipe that is not plain reading.
 * @param stages - from {@link parsePipe}.
 * @param cwd - absolute directory the command would run in.
 * @returns the first problem, if there is one.
 */
export function problemOfPipe(stages: readonly ShellStage[], cwd: string): string | undefined {
  const patterns = stages.flatMap((stage) => stage.args).filter((word) => word.pattern)
  if (patterns.length > MAX_PATTERNS) return `more than ${MAX_PATTERNS} words with * ? [ ]`
  const place = problemOfPlace(cwd, '.')
  if (place !== undefined) return place
  for (const [index, stage] of stages.entries()) {
    const problem = problemOfStage(stage, cwd, index === 0)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfStage(stage: ShellStage, cwd: string, first: boolean): string | undefined {
  const { name, args } = stage
  if (!READ_ONLY_BASH_COMMANDS.includes(name)) return `${name} is not one of the commands`
  for (const word of args) {
    // What grep searches may begin like a network path: //TODO.
    const use = { isText: name === 'grep' }
    const problem = word.pattern === undefined ? problemOfPlace(cwd, word.value, use) : undefined
    if (problem !== undefined) return problem
  }
  if (name === 'find') return problemOfFind(args, cwd)
  const spec = COMMANDS[name]
  if (spec === undefined) return `${name} is not one of the commands`
  const parsed = parseArguments(name, spec, args)
  if ('problem' in parsed) return parsed.problem
  const { files, recursive } = parsed
  if (name === 'grep' && isCostly(args)) {
    return 'the pattern uses back-references or large repetitions; use a simpler one'
  }
  if (name === 'tail' && files.some((word) => word.value.startsWith('+'))) {
    return 'write tail -n +5 instead of tail +5'
  }
  if (first && files.some((word) => word.value === '-')) return '- is not allowed, name a file'
  if (first && files.length === 0 && spec.mayOmitFile !== true && !recursive) {
    return `${name} needs a file here`
  }
  const use = { recursive, opens: spec.opens }
  return problemOfFiles(parsed, cwd, { ...use, globs: spec.globs === true, name })
}

/** Checks what the command walks and opens, and every unquoted pattern. */
function problemOfFiles(
  parsed: ParsedArguments,
  cwd: string,
  use: PlaceUse & { globs: boolean; name: string },
): string | undefined {
  const { files, patternOperand, values, afterEnd } = parsed
  for (const value of values) {
    const problem = problemOfPlace(cwd, value, { isText: use.name === 'grep' })
    if (problem !== undefined) return problem
  }
  if (files.length === 0 && use.recursive === true) return problemOfPlace(cwd, '.', use)
  for (const word of patternOperand === undefined ? files : [patternOperand, ...files]) {
    if (word.pattern === undefined && word === patternOperand) continue
    const problem =
      word.pattern === undefined
        ? problemOfFile(cwd, word.value, use)
        : use.globs
          ? problemOfPattern(cwd, word.pattern, { ...use, afterEnd: afterEnd.has(word) })
          : `${use.name} takes no unquoted * ? [ ]`
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfFile(cwd: string, file: string, use: PlaceUse): string | undefined {
  if (file === '') return 'a file name is empty'
  return file === '-' ? undefined : problemOfPlace(cwd, file, use)
}

function problemOfFind(args: readonly ShellWord[], cwd: string): string | undefined {
  const parsed = parseFind(args)
  if ('problem' in parsed) return parsed.problem
  const starts = parsed.files.length === 0 ? ['.'] : parsed.files.map((word) => word.value)
  for (const start of starts) {
    const problem = problemOfFile(cwd, start, { recursive: true })
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Patterns that can take more time or memory than a search is worth. */
function isCostly(args: readonly ShellWord[]): boolean {
  let size = 0
  for (const { value } of args) {
    if (/\\[1-9]/u.test(value)) return true
    size += writtenOutSize(value)
  }
  return size > MAX_PATTERN_SIZE
}

/** A bracket expression, a repetition, or one character; each may be behind a backslash. */
const PATTERN_PART = /\[\^?\]?[^\]]{0,1000}\]|\\?\{(\d*)(,?)(\d*)\\?\}|\\?([^])/gu

/**
 * The size of a pattern with its repetitions written out. Parentheses and repetitions count with and
 * without a backslash, since which of the two is one depends on options.
 */
function writtenOutSize(pattern: string): number {
  const outer: number[] = []
  let size = 0
  let last = 0
  const repeat = (times: number): void => {
    // Not to Infinity: less it would be no number.
    const more = Math.min(last * times, Number.MAX_SAFE_INTEGER)
    size += more - last
    last = more
  }
  for (const [, low, comma, high, character] of pattern.matchAll(PATTERN_PART)) {
    if (low !== undefined) {
      const atLeast = Number(low) + (comma !== '' && high === '' ? 1 : 0)
      repeat(Math.max(1, atLeast, Number(high)))
    } else if (character === '+') repeat(2)
    else if (character === '(') {
      outer.push(size)
      size = 0
      last = 0
    } else if (character === ')' && outer.length > 0) {
      last = size
      size += outer.pop() ?? 0
    } else if (character !== '*' && character !== '?') {
      last = 1
      size += 1
    }
  }
  return outer.reduce((sum, part) => sum + part, size)
}
