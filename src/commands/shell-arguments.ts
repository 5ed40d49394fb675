/**
 * The words of a shell call.
 *
 * Role: parses them once into a request that cannot be wrong; what is not
 * understood is a usage error that says what is. Reads no disk.
 */
import { extname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { ImportProgram } from '../store/import-source.ts'
import { IMPORT_PROGRAMS } from '../store/import-source.ts'
import type { ExportFormat } from './export.ts'
import { EXPORT_FORMATS } from './export.ts'
import type { Texts } from './texts-en.ts'

type Problems = Texts['usageProblems']

/** What is to be done. */
export type ShellVerb =
  | { verb: 'list' | 'why' | 'where' }
  | { verb: 'show' | 'search'; words: string }
  | { verb: 'forget'; words: string; purge: boolean }
  | { verb: 'undo'; words: string | undefined }
  | { verb: 'doctor'; fix: boolean }
  | { verb: 'import'; program: ImportProgram; folder: string | undefined; apply: boolean }
  | { verb: 'export'; file: string | undefined; format: ExportFormat; force: boolean }

/** A parsed call. */
export interface ShellRequest {
  /** Absolute path of the project. */
  project: string
  json: boolean
  task: ShellVerb
}

/** What the words come to; `message` is one line. */
export type ParsedCall =
  | { kind: 'request'; request: ShellRequest }
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'usage'; message: string; json: boolean }

const OPTIONS = {
  project: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  purge: { type: 'boolean' },
  from: { type: 'string' },
  folder: { type: 'string' },
  apply: { type: 'boolean' },
  output: { type: 'string', short: 'o' },
  format: { type: 'string' },
  force: { type: 'boolean' },
} as const

type Values = {
  [Name in keyof typeof OPTIONS]?: (typeof OPTIONS)[Name]['type'] extends 'string'
    ? string
    : boolean
}

/** Options that every verb takes. */
const COMMON = ['project', 'json'] as const

/** Options of single verbs. */
const OWN: Readonly<Record<ShellVerb['verb'], readonly (keyof typeof OPTIONS)[]>> = {
  list: [],
  show: [],
  search: [],
  forget: ['purge'],
  undo: [],
  why: [],
  doctor: [],
  where: [],
  import: ['from', 'folder', 'apply'],
  export: ['output', 'format', 'force'],
}

/** A usage error on its way out of the parser; never leaves this module. */
class UsageError extends Error {}

function oneOf<Value extends string>(
  option: string,
  value: string | undefined,
  allowed: readonly Value[],
  problems: Problems,
): Value {
  const found = allowed.find((candidate) => candidate === value)
  if (found !== undefined) return found
  throw new UsageError(
    value === undefined
      ? problems.optionMissing(option, allowed)
      : problems.optionValue(option, value, allowed),
  )
}

function exportFormat(
  { format, json }: Values,
  file: string | undefined,
  problems: Problems,
): ExportFormat {
  if (format !== undefined) {
    return oneOf('format', format === 'md' ? 'markdown' : format, EXPORT_FORMATS, problems)
  }
  if (file !== undefined && file !== '-')
    return extname(file).toLowerCase() === '.json' ? 'json' : 'markdown'
  return json === true ? 'json' : 'markdown'
}

function needed(words: readonly string[], problem: string): string {
  const text = words.join(' ').trim()
  if (text === '') throw new UsageError(problem)
  return text
}

function parseTask(
  verb: ShellVerb['verb'],
  words: string[],
  values: Values,
  problems: Problems,
): ShellVerb {
  const noMore = (allowed: number): void => {
    const [word] = words.slice(allowed)
    if (word !== undefined) throw new UsageError(problems.takesNoWord(verb, word))
  }
  switch (verb) {
    case 'show':
      return { verb, words: needed(words, problems.needsName(verb)) }
    case 'search':
      return { verb, words: needed(words, problems.needsWords(verb)) }
    case 'forget':
      return {
        verb,
        words: needed(words, problems.needsName(verb)),
        purge: values.purge === true,
      }
    case 'undo':
      return { verb, words: words.length === 0 ? undefined : words.join(' ') }
    case 'doctor':
      noMore(words[0] === 'fix' ? 1 : 0)
      return { verb, fix: words[0] === 'fix' }
    case 'import':
      noMore(0)
      return {
        verb,
        program: oneOf('from', values.from, IMPORT_PROGRAMS, problems),
        folder: values.folder,
        apply: values.apply === true,
      }
    case 'export':
      noMore(0)
      if (values.output === '') throw new UsageError(problems.emptyOutput)
      return {
        verb,
        file: values.output,
        format: exportFormat(values, values.output, problems),
        force: values.force === true,
      }
    default:
      noMore(0)
      return { verb }
  }
}

function isVerb(word: string | undefined): word is ShellVerb['verb'] {
  return word !== undefined && Object.hasOwn(OWN, word)
}

function parseValues(argv: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new UsageError(message.split(/\.\s|\n/u)[0] ?? '')
  }
}

function parse(argv: readonly string[], cwd: string, problems: Problems): ParsedCall {
  const { values, positionals } = parseValues(argv)
  if (values.version === true) return { kind: 'version' }
  const [verb, ...words] = positionals
  if (values.help === true || verb === 'help') return { kind: 'help' }
  if (!isVerb(verb)) {
    throw new UsageError(verb === undefined ? problems.noCommand : problems.notACommand(verb))
  }
  const allowed = new Set<string>([...COMMON, ...OWN[verb]])
  const foreign = Object.keys(values).find((name) => !allowed.has(name))
  if (foreign !== undefined) throw new UsageError(problems.takesNoOption(verb, foreign))
  if (values.project === '') throw new UsageError(problems.emptyProject)
  const task = parseTask(verb, words, values, problems)
  const project = resolve(cwd, values.project ?? '.')
  return { kind: 'request', request: { project, json: values.json === true, task } }
}

/**
 * Parse a call.
 * @param argv - the words behind the program's name.
 * @param cwd - working directory, for relative paths.
 * @param problems - what is told of wrong usage.
 */
export function parseShellCall(
  argv: readonly string[],
  cwd: string,
  problems: Problems,
): ParsedCall {
  try {
    return parse(argv, cwd, problems)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { kind: 'usage', message: error.message, json: argv.includes('--json') }
  }
}
