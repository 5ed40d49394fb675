/**
 * The same verbs from a shell.
 *
 * Role: runs one call with everything it needs passed in, writes text or JSON and
 * returns the exit code: 0 done, 1 findings or nothing found, 2 wrong usage, 3
 * the disk or another process is in the way. Ends no process.
 */
import { resolve } from 'node:path'
import { resolveProjectMemoryPaths } from '../store/paths.ts'
import { directoryExists } from '../store/places.ts'
import { ProjectMemoryStore } from '../store/store.ts'
import type { MemoryScope } from './actions.ts'
import {
  examine,
  failureOf,
  forgetMemory,
  listMemories,
  locatePlaces,
  mend,
  searchMemories,
  showMemory,
  undoForget,
} from './actions.ts'
import { exitCodeOf } from './exit-code.ts'
import { languageOf, localesOfEnvironment } from './language.ts'
import type { Outcome } from './outcome.ts'
import { renderPlan } from './render-doctor.ts'
import type { RenderOptions } from './render.ts'
import { renderOutcome } from './render.ts'
import type { ShellRequest } from './shell-arguments.ts'
import { parseShellCall } from './shell-arguments.ts'
import { textsOf } from './texts.ts'
import { visibleJson, visibleLine, visibleText } from './visible.ts'

/** Name of the program. */
export const PROGRAM_NAME = 'dsh-zcode-project-memory'

/** What a call needs of its surroundings. */
export interface ShellIo {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  /** The user's home directory. */
  home: string
  /** Locale of the system, asked after the environment. */
  systemLocale: string | undefined
  /** Version of the package. */
  version: string
  now: () => Date
  /** Whether what is written goes to a screen. */
  isTerminal: boolean
  write: (text: string) => void
  writeError: (text: string) => void
}

/** A call under way. */
interface ShellCall {
  request: ShellRequest
  scope: MemoryScope
  io: ShellIo
  options: RenderOptions
}

async function examineAndMend({ io, options, request, scope }: ShellCall, fix: boolean) {
  const examination = await examine(scope)
  const { outcome } = examination
  if (!fix) return outcome
  if (!request.json && outcome.findings.length > 0) {
    io.write(`${renderPlan(outcome.findings, options)}\n\n`)
  }
  return mend(scope, examination)
}

async function why({ scope }: ShellCall): Promise<Outcome> {
  const [{ resolveConfig }, { readInjectedIndex }, { renderMemoryGuidance }, { explainInjection }] =
    await Promise.all([
      import('../config.ts'),
      import('../session/injected-index.ts'),
      import('../prompt/render.ts'),
      import('./why.ts'),
    ])
  const settings = resolveConfig()
  const { paths } = scope.store
  const guidance = renderMemoryGuidance(paths.root, settings)
  const { index } = readInjectedIndex(paths, settings)
  return explainInjection({ audience: 'new-session', project: paths, settings, guidance, index })
}

async function transfer(
  { io, request, scope }: ShellCall,
  task: Extract<ShellRequest['task'], { verb: 'import' | 'export' }>,
): Promise<Outcome | { text: string; outcome: Outcome }> {
  const { exportTo, importFrom } = await import('./transfer.ts')
  const { paths } = scope.store
  if (task.verb === 'import') {
    const { apply, program } = task
    const folder = task.folder === undefined ? undefined : resolve(io.cwd, task.folder)
    const { project: projectPath } = request
    return importFrom({ program, projectPath, paths, home: io.home, folder, apply })
  }
  const { force: mayReplace, format } = task
  const { file: name = '-' } = task
  const file = name === '-' ? undefined : resolve(io.cwd, name)
  const { outcome, text } = await exportTo({ paths, format, file, mayReplace, now: io.now() })
  return file === undefined ? { text, outcome } : outcome
}

async function run(call: ShellCall): Promise<Outcome | { text: string; outcome: Outcome }> {
  const { request, scope } = call
  const { task } = request
  switch (task.verb) {
    case 'list':
      return listMemories(scope)
    case 'show':
      return showMemory(scope, task.words)
    case 'search':
      return searchMemories(scope, task.words)
    case 'forget': {
      const { purge, words } = task
      return forgetMemory(scope, words, { purge, sessionId: undefined, signal: undefined })
    }
    case 'undo':
      return undoForget(scope, task.words, undefined)
    case 'why':
      return why(call)
    case 'doctor':
      return examineAndMend(call, task.fix)
    case 'where':
      return locatePlaces(scope)
    default:
      return transfer(call, task)
  }
}

/** A project that is neither on the disk nor has a memory is a mistyped one. */
async function missingProject({
  options,
  request,
  scope,
}: ShellCall): Promise<Outcome | undefined> {
  const { project } = request
  if (await directoryExists(project)) return undefined
  if (await directoryExists(scope.store.paths.root)) return undefined
  const message = options.texts.noProjectThere(project)
  return { kind: 'failure', code: 'NO_PROJECT', message }
}

function tell(outcome: Outcome, { io, options, request }: ShellCall): number {
  const code = exitCodeOf(outcome)
  if (request.json) io.write(`${visibleJson({ ok: code === 0, ...outcome })}\n`)
  else {
    const write = ['failure', 'missing', 'ambiguous'].includes(outcome.kind)
      ? io.writeError
      : io.write
    write(`${renderOutcome(outcome, options)}\n`)
  }
  return code
}

async function runRequest(request: ShellRequest, io: ShellIo, options: RenderOptions) {
  const { project: projectPath } = request
  const store = new ProjectMemoryStore(resolveProjectMemoryPaths(projectPath, io.env))
  const call: ShellCall = { request, scope: { store, projectPath, env: io.env }, io, options }
  try {
    const result = (await missingProject(call)) ?? (await run(call))
    if ('kind' in result) return tell(result, call)
    io.write(io.isTerminal ? visibleText(result.text) : result.text)
    const { outcome } = result
    const hasGaps = outcome.kind === 'export' && outcome.skipped.length > 0
    if (hasGaps) io.writeError(`${renderOutcome(outcome, options)}\n`)
    return exitCodeOf(outcome)
  } catch (error) {
    return tell(failureOf(error), call)
  }
}

/**
 * Run one call of the program.
 * @param argv - the words behind the program's name.
 * @param io - surroundings; texts end with a line break.
 * @returns the exit code.
 */
export async function runCli(argv: readonly string[], io: ShellIo): Promise<number> {
  const language = languageOf([...localesOfEnvironment(io.env), io.systemLocale])
  const texts = textsOf(language)
  const call = parseShellCall(argv, io.cwd, texts.usageProblems)
  if (call.kind === 'version') {
    io.write(`${io.version}\n`)
    return 0
  }
  const usage = `${texts.usage(PROGRAM_NAME)}\n${texts.shellUsage(PROGRAM_NAME)}\n`
  if (call.kind === 'help') {
    io.write(usage)
    return 0
  }
  if (call.kind === 'usage') {
    const failure = { ok: false, kind: 'failure', code: 'USAGE', message: call.message }
    if (call.json) io.write(`${visibleJson(failure)}\n`)
    else if (argv.length === 0) io.writeError(usage)
    else io.writeError(`${visibleLine(call.message)}\n${texts.seeHelp(PROGRAM_NAME)}\n`)
    return 2
  }
  return runRequest(call.request, io, { texts, command: PROGRAM_NAME, now: io.now() })
}
