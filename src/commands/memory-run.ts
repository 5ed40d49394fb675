/**
 * What a call of `/memory` does.
 *
 * Role: reads the words behind the command, runs the verb on the memory of the
 * session's project and gives plain text. A name that does not exist is an error
 * for the host, so that the person sees that nothing was done.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { CommandResult } from '@deepseek-ai/dsh-commands'
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
import type { Language } from './language.ts'
import { MEMORY_COMMAND_NAME } from './memory.ts'
import type { MemoryCommandOptions } from './memory.ts'
import type { Outcome } from './outcome.ts'
import { renderPlan } from './render-doctor.ts'
import type { RenderOptions } from './render.ts'
import { renderOutcome } from './render.ts'
import { textsOf } from './texts.ts'
import { explainInjection } from './why.ts'

/** Most code units of a memory that the command shows: results are kept in the session's log. */
const BODY_MAX_CHARS = 20_000

const COMMAND = `/${MEMORY_COMMAND_NAME}`

/** A call of the command. */
export interface MemoryCommandCall extends MemoryCommandOptions {
  agent: Agent
  rawInput: string
  signal: AbortSignal
  language: Language
}

function words(rawInput: string): { verb: string; rest: string } {
  const [, verb = '', rest = ''] = /^\s*(\S*)\s*([\s\S]*?)\s*$/u.exec(rawInput) ?? []
  return { verb: verb.toLowerCase(), rest }
}

/** A name and whether `--purge` stands before or behind it. */
function forgetArguments(rest: string): { name: string; purge: boolean } {
  const name = rest.replace(/^--purge(?=\s|$)|(?<=\s|^)--purge$/u, '').trim()
  return { name, purge: name !== rest }
}

async function fixed(scope: MemoryScope, options: RenderOptions): Promise<string> {
  const examination = await examine(scope)
  const { findings } = examination.outcome
  const done = renderOutcome(await mend(scope, examination), options)
  return findings.length === 0 ? done : `${renderPlan(findings, options)}\n\n${done}`
}

async function run(
  { verb, rest }: { verb: string; rest: string },
  scope: MemoryScope,
  call: MemoryCommandCall,
  options: RenderOptions,
): Promise<Outcome | CommandResult> {
  const { texts } = options
  const { agent, config, memory, signal } = call
  const error = (text: string): CommandResult => ({ kind: 'error', text })
  if (rest !== '' && ['list', 'why', 'where'].includes(verb)) {
    return error(texts.takesNothing(`${COMMAND} ${verb}`, rest))
  }
  switch (verb) {
    case '':
    case 'help':
      return { kind: 'success', text: texts.usage(COMMAND) }
    case 'list':
      return listMemories(scope)
    case 'show':
      return rest === '' ? error(texts.needsName(verb, COMMAND)) : showMemory(scope, rest)
    case 'search':
      return rest === '' ? error(texts.needsWords(COMMAND)) : searchMemories(scope, rest)
    case 'forget': {
      const { name, purge } = forgetArguments(rest)
      if (name === '') return error(texts.needsName(verb, COMMAND))
      return forgetMemory(scope, name, { purge, sessionId: agent.session.id, signal })
    }
    case 'undo':
      return undoForget(scope, rest === '' ? undefined : rest, signal)
    case 'why': {
      const { guidance, index } = memory().injected(agent)
      const { paths } = scope.store
      return explainInjection({
        audience: 'session',
        project: paths,
        settings: config,
        guidance,
        index,
      })
    }
    case 'doctor':
      if (rest === 'fix') return { kind: 'success', text: await fixed(scope, options) }
      if (rest !== '') return error(texts.unknownVerb(`doctor ${rest}`, COMMAND))
      return (await examine(scope)).outcome
    case 'where':
      return locatePlaces(scope)
    default:
      return error(texts.unknownVerb(verb, COMMAND))
  }
}

function toResult(outcome: Outcome | CommandResult, options: RenderOptions): CommandResult {
  if (outcome.kind === 'success' || outcome.kind === 'error') return outcome
  const isError = ['missing', 'ambiguous', 'failure'].includes(outcome.kind)
  return { kind: isError ? 'error' : 'success', text: renderOutcome(outcome, options) }
}

/**
 * Run one call.
 * @returns plain text for the person; an error for a wrong word, an unknown name, a session without
 *   project or a failing disk.
 */
export async function runMemoryCommand(call: MemoryCommandCall): Promise<CommandResult> {
  const { agent, language, memory, rawInput, stores } = call
  const options: RenderOptions = {
    texts: textsOf(language),
    command: COMMAND,
    now: new Date(),
    maxBodyChars: BODY_MAX_CHARS,
  }
  const project = memory().project(agent)
  if (project === undefined) return { kind: 'error', text: options.texts.noProject }
  const projectPath = agent.session.header.cwd ?? project.projectRoot
  try {
    const store = (await stores()).of(project)
    const scope: MemoryScope = { store, projectPath, env: process.env }
    return toResult(await run(words(rawInput), scope, call, options), options)
  } catch (error) {
    return toResult(failureOf(error), options)
  }
}
