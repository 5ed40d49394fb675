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

/** What the words come to; `message` is one line in English. */
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
): Value {
  const found = allowed.find((candidate) => candidate === value)
  if (found !== undefined) return found
  const got = value === undefined ? 'is missing' : `cannot be "${value}"`
  throw new UsageError(`--${option} ${got}; write --${option} ${allowed.join(' or ')}`)
}

function exportFormat({ format, json }: Values, file: string | undefined): ExportFormat {
  if (format !== undefined)
    return oneOf('format', format === 'md' ? 'markdown' : format, EXPORT_FORMATS)
  if (file !== undefined && file !== '-')
    return extname(file).toLowerCase() === '.json' ? 'json' : 'markdown'
  return json === true ? 'json' : 'markdown'
}

function needed(verb: string, words: readonly string[], what: string): string {
  const text = words.join(' ').trim()
  if (text === '') throw new UsageError(`${verb} needs ${what}`)
  return text
}

function noMore(verb: string, words: readonly string[], allowed: number): void {
  if (words.length > allowed) throw new UsageError(`${verb} takes no "${words[allowed] ?? ''}"`)
}

function parseTask(verb: ShellVerb['verb'], words: string[], values: Values): ShellVerb {
  switch (verb) {
    case 'show':
      return { verb, words: needed(verb, words, 'a title or file name') }
    case 'search':
      return { verb, words: needed(verb, words, 'words to look for') }
    case 'forget':
      return {
        verb,
        words: needed(verb, words, 'a title or file name'),
        purge: values.purge === true,
      }
    case 'undo':
      return { verb, words: words.length === 0 ? undefined : words.join(' ') }
    case 'doctor':
      noMore(verb, words, words[0] === 'fix' ? 1 : 0)
      return { verb, fix: words[0] === 'fix' }
    case 'import':
      noMore(verb, words, 0)
      return {
        verb,
        program: oneOf('from', values.from, IMPORT_PROGRAMS),
        folder: values.folder,
        apply: values.apply === true,
      }
    case 'export':
      noMore(verb, words, 0)
      if (values.output === '')
        throw new UsageError('--output needs a file, or - for the standard output')
      return {
        verb,
        file: values.output,
        format: exportFormat(values, values.output),
        force: values.force === true,
      }
    default:
      noMore(verb, words, 0)
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

function parse(argv: readonly string[], cwd: string): ParsedCall {
  const { values, positionals } = parseValues(argv)
  if (values.version === true) return { kind: 'version' }
  const [verb, ...words] = positionals
  if (values.help === true || verb === 'help') return { kind: 'help' }
  if (!isVerb(verb)) {
    throw new UsageError(verb === undefined ? 'a command is missing' : `"${verb}" is no command`)
  }
  const allowed = new Set<string>([...COMMON, ...OWN[verb]])
  const foreign = Object.keys(values).find((name) => !allowed.has(name))
  if (foreign !== undefined) throw new UsageError(`${verb} takes no --${foreign}`)
  if (values.project === '') throw new UsageError('--project needs a directory')
  const task = parseTask(verb, words, values)
  const project = resolve(cwd, values.project ?? '.')
  return { kind: 'request', request: { project, json: values.json === true, task } }
}

/**
 * Parse a call.
 * @param argv - the words behind the program's name.
 * @param cwd - working directory, for relative paths.
 */
export function parseShellCall(argv: readonly string[], cwd: string): ParsedCall {
  try {
    return parse(argv, cwd)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { kind: 'usage', message: error.message, json: argv.includes('--json') }
  }
}
