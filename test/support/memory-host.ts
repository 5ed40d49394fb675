/**
 * The memory plugin on the real host, for the tests in `test/host`.
 *
 * One booted host serves many tests: each takes sessions and projects of its own, and the scripted
 * model finds the steps of a turn by the prompt that opened it, so turns never take each other's.
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  callTool,
  createHome,
  type DrivenHost,
  type Ended,
  type Home,
  type HostProcessOptions,
  type ModelAnswer,
  type ModelStep,
  packPlugin,
  type PatchRow,
  type RecordedRequest,
  removeHome,
  type ScriptedModel,
  startHost,
  startScriptedModel,
  type TurnSummary,
  writePatch,
} from './host/index.mjs'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import type { ProjectMemoryPaths } from '../../src/types.ts'

/** Id of the plugin's row. */
export const ROW = 'project-memory'
export const SAVE = 'save_project_memory'
const PROMPT = /^\[(turn \d+)\]/
const HEADING = '# Persistent Project Memory'
const INTRODUCTION = 'Project memory index '

/** What a save answered. */
export interface SaveAnswer {
  isError: boolean
  text: string
  /** The parsed result; `{}` for an error. */
  value: Record<string, unknown>
}

export interface MemoryHostOptions extends Pick<HostProcessOptions, 'env' | 'cwd'> {
  /** Configuration of the plugin's row. */
  config?: Record<string, unknown>
  /** Further rows of the home's patch. */
  rows?: readonly PatchRow[]
  /** A home that was prepared; the caller removes it. */
  home?: Home
}

/** A home with the plugin installed, as from its tarball. */
export async function memoryHome(
  config?: Record<string, unknown>,
  rows: readonly PatchRow[] = [],
): Promise<Home> {
  const home = await createHome({ plugins: [await packPlugin()] })
  await writePatch(home, [...rows, ...(config === undefined ? [] : [{ id: ROW, config }])])
  return home
}

/** Where the memory of a project below a home lies. */
export function memoryPaths(home: Home, project: string): ProjectMemoryPaths {
  return resolveProjectMemoryPaths(project, { DSH_HOME: home.dshHome })
}

/** Every path below `<DSH_HOME>/memories`, sorted; empty when there is no such folder. */
export async function memoryTree(home: Home): Promise<string[]> {
  const root = join(home.dshHome, 'memories')
  return existsSync(root) ? (await readdir(root, { recursive: true })).sort() : []
}

/** The index as the newest snapshot of a request shows it, frame and warning included; `''` without. */
export function shownIndex(request: RecordedRequest | undefined): string {
  return indexIn(request?.snapshots.at(-1) ?? '')
}

/** The index within the text of one snapshot. */
export function indexIn(snapshot: string): string {
  const start = snapshot.indexOf(INTRODUCTION)
  if (start < 0) return ''
  const lines = snapshot.slice(start).split('\n')
  const fence = /^`{3,}$/.test(lines[1] ?? '') ? lines[1] : undefined
  const closing = fence === undefined ? 0 : lines.indexOf(fence, 2)
  const end = lines.indexOf('', closing)
  return lines.slice(0, end < 0 ? lines.length : end).join('\n')
}

/** The guidance in the system prompt of a request; `''` without. */
export function shownGuidance(request: RecordedRequest | undefined): string {
  const system = request?.system ?? ''
  const start = system.indexOf(HEADING)
  return start < 0 ? '' : system.slice(start)
}

/** The directory that the guidance names. */
export function guidedDirectory(request: RecordedRequest | undefined): string {
  return /`([^`]+)\/`/.exec(shownGuidance(request))?.[1] ?? ''
}

/** Read the answer of a save from what the model was sent. */
export function readAnswer(isError: boolean, text: string): SaveAnswer {
  return { isError, text, value: isError ? {} : (JSON.parse(text) as Record<string, unknown>) }
}

/** A booted host with the plugin, and the model that it talks to. */
export class MemoryHost {
  readonly home: Home
  readonly host: DrivenHost
  readonly model: ScriptedModel
  readonly #ownsHome: boolean
  #turns = 0

  private constructor(home: Home, host: DrivenHost, model: ScriptedModel, ownsHome: boolean) {
    this.home = home
    this.host = host
    this.model = model
    this.#ownsHome = ownsHome
  }

  static async start(options: MemoryHostOptions = {}): Promise<MemoryHost> {
    const { config, rows, env, cwd } = options
    const home = options.home ?? (await memoryHome(config, rows))
    const model = await startScriptedModel({}, { route: scriptOf })
    try {
      const place = { ...(env === undefined ? {} : { env }), ...(cwd === undefined ? {} : { cwd }) }
      const host = await startHost({ home, model, ...place })
      return new MemoryHost(home, host, model, options.home === undefined)
    } catch (error) {
      await model.close()
      if (options.home === undefined) await removeHome(home)
      throw error
    }
  }

  /** Ends the host the orderly way, and everything else. */
  async stop(): Promise<Ended> {
    try {
      return await this.host.exit()
    } finally {
      await this.abandon()
    }
  }

  /** Lets everything go whose host has ended by itself or by a signal. */
  async abandon(): Promise<void> {
    await this.host.kill()
    await this.model.close()
    if (this.#ownsHome) await removeHome(this.home)
  }

  /** A new session in a project folder of the given name. */
  async session(project: string): Promise<string> {
    return this.host.create({ cwd: await this.home.project(project) })
  }

  /** One turn in which the model takes these steps, the closing text being added. */
  turn(session: string, ...steps: ModelStep[]): Promise<TurnSummary> {
    return this.host.say(session, this.prompt(...steps))
  }

  /** Opens such a turn and leaves it to itself: the process will end before it does. */
  async begin(session: string, ...steps: ModelStep[]): Promise<void> {
    await this.host.evaluate(
      (_ctx, text, agent) => {
        const id = crypto.randomUUID()
        const content = [{ type: 'text', text }]
        agent.followup({ id, role: 'user', content, source: { kind: 'user' } })
      },
      this.prompt(...steps),
      session,
    )
  }

  /** A prompt to which the model answers with these steps. */
  prompt(...steps: ModelStep[]): string {
    this.#turns += 1
    const script = `turn ${this.#turns}`
    this.model.add([...steps, 'Done.'], script)
    return `[${script}]`
  }

  /** One turn that saves once. */
  async save(session: string, args: unknown): Promise<SaveAnswer> {
    return this.call(session, SAVE, args)
  }

  /** One turn that calls one tool. */
  async call(session: string, name: string, args: unknown): Promise<SaveAnswer> {
    const { toolCalls } = await this.turn(session, callTool(name, args))
    const [call] = toolCalls
    if (call === undefined) throw new Error('the model was not asked for a tool call')
    return readAnswer(call.isError, call.result)
  }

  /** Append a state of the host's own to a session's log, the way the host's switches do. */
  async mark(
    session: string,
    type: 'sandbox/mode' | 'approval/policy' | 'plan/mode',
    data: Record<string, unknown>,
  ): Promise<void> {
    await this.host.evaluate(
      (_ctx, event, agent) => void agent.session.append(event.type, event.data),
      { type, data },
      session,
    )
  }

  /** What the model was sent last in a session. */
  lastRequest(session: string): RecordedRequest {
    const request = this.model.of(session).at(-1)
    if (request === undefined) throw new Error(`the model was asked nothing in ${session}`)
    return request
  }

  /** The first request of a fresh session: what a new session is shown. */
  async freshRequest(project: string): Promise<RecordedRequest> {
    const session = await this.session(project)
    await this.turn(session)
    return this.lastRequest(session)
  }
}

function scriptOf({ prompts }: RecordedRequest): string {
  const opener = prompts.findLast((text) => PROMPT.test(text)) ?? ''
  return PROMPT.exec(opener)?.[1] ?? 'none'
}

/** Run a test with a host of its own. */
export async function withMemoryHost<T>(
  options: MemoryHostOptions,
  script: (memory: MemoryHost) => Promise<T>,
): Promise<T> {
  const memory = await MemoryHost.start(options)
  try {
    return await script(memory)
  } finally {
    await memory.stop()
  }
}

/** A step that saves. */
export function saveStep(args: unknown): ModelAnswer {
  return callTool(SAVE, args)
}
