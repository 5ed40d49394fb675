/**
 * The harness for tests on the real host, in one page.
 *
 * A test packs the plugin, makes a home with it, starts a scripted model, and then either runs one
 * task per process (`runHeadless`) or drives several sessions in one process (`drive`). What the
 * model saw is in the recorded requests, what came of it is on disk below `home.dshHome`.
 */
import type { IncomingHttpHeaders } from 'node:http'

// --- the host -------------------------------------------------------------------------------

/** An installed host; every helper below installs it by itself when needed. */
export interface Host {
  readonly directory: string
  readonly nodePath: string
  readonly dshPath: string
  readonly binDirectory: string
  readonly id: string
}

/** Whether the host can run on this machine. */
export function hostSupport(machine?: {
  platform?: string
  arch?: string
  version?: string
}): { supported: true; nodePackage?: string } | { supported: false; reason: string }

/** Installs the pinned host unless it is there; several processes may call it at once. */
export function installHost(options?: { report?: (line: string) => void }): Promise<Host>

/** Runs `task` while no other living process runs one under the same lock file. */
export function exclusively<T>(
  path: string,
  task: () => Promise<T>,
  onWait?: () => void,
): Promise<T>

// --- homes and plugins ----------------------------------------------------------------------

/** Folders of one test, outside every temporary directory. */
export interface Home {
  readonly root: string
  readonly profile: string
  /** `DSH_HOME` of the host. */
  readonly dshHome: string
  /** `HOME` of the host, empty. */
  readonly userHome: string
  /** Makes a project folder when needed and returns its absolute path; `project` by default. */
  project(name?: string): Promise<string>
}

/** A row of the host's patch dialect: a change to a row, or an insert. */
export type PatchRow =
  | { id: string; disabled?: boolean; config?: unknown }
  | { insert: { id: string; name: string; disabled?: boolean; config?: unknown }[] }

/** Makes a home, with plugins installed (tarballs by absolute path are installed once, then copied). */
export function createHome(options?: { profile?: string; plugins?: readonly string[] }): Promise<Home>
/** Removes a home with everything below it. */
export function removeHome(home: Home): Promise<void>
/** `dsh plugin --profile <profile> add <spec>`; resolves with its output, rejects when it fails. */
export function addPlugin(home: Home, spec: string): Promise<string>
/** `dsh plugin --profile <profile> <args>`; resolves with its output, rejects when it fails. */
export function pluginCommand(home: Home, args: readonly string[]): Promise<string>
/** Replaces `$DSH_HOME/cordis.patch.yml`. A row's `config` replaces the bundle's whole `config`. */
export function writePatch(home: Home, rows: readonly PatchRow[]): Promise<void>
/** Builds when stale and packs this repository's plugin, once per process; the tarball's path. */
export function packPlugin(): Promise<string>

// --- the model ------------------------------------------------------------------------------

export interface WireMessage {
  readonly role: string
  readonly content?: string | { type: string; text?: string }[] | null
  readonly tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  readonly tool_call_id?: string
}

export interface WireTool {
  readonly name: string
  readonly description: string
  readonly parameters: Record<string, unknown>
}

/** One request as the model got it. */
export interface RecordedRequest {
  /** `title` names a session (no tools), `compaction` sums one up, everything else is a `turn`. */
  readonly kind: 'turn' | 'title' | 'compaction'
  /** Tells sub-agents and forks apart; '' when the host sent none. */
  readonly sessionId: string
  /** The body byte for byte. */
  readonly raw: string
  readonly body: {
    readonly model: string
    readonly messages: readonly WireMessage[]
    readonly tools?: readonly { function: WireTool }[]
    readonly [field: string]: unknown
  }
  readonly headers: IncomingHttpHeaders
  /** The system prompt. */
  readonly system: string
  /** The host's runtime snapshots, oldest first: each carries all contexts, the memory index among them. */
  readonly snapshots: readonly string[]
  /** All other messages of role user: what a person or a parent agent wrote, and what else the host injected. */
  readonly prompts: readonly string[]
  readonly lastPrompt: string
  readonly toolNames: readonly string[]
  readonly toolResults: readonly { id: string; text: string }[]
  /** Whether a message of any role contains `part`. */
  includes(part: string): boolean
  /** The definition of a tool as the model saw it. */
  tool(name: string): WireTool | undefined
}

/** What the model answers. Without `text` and `toolCalls` the host sees an empty answer. */
export interface ModelAnswer {
  text?: string
  reasoning?: string
  toolCalls?: { name: string; arguments: unknown; id?: string }[]
  /** `stop` or `tool_calls` by default; for example `length`. */
  finish?: string
  /** An HTTP error instead; the host repeats 5xx and 429 by itself. */
  error?: { status: number; message?: string }
  /** Never answers; ends when the host hangs up. For tests of cancelling. */
  hang?: true
}

export type ModelStep =
  | string
  | ModelAnswer
  | ((request: RecordedRequest) => string | ModelAnswer | Promise<string | ModelAnswer>)

export interface ScriptedModelOptions {
  /** Chooses the script that answers a turn; `main` by default. */
  route?: (request: RecordedRequest) => string
  /** Answers every title request. */
  title?: ModelStep
  /** Answers every compaction request. */
  compaction?: ModelStep
}

/** A model that keeps what it was asked. */
export interface RecordingModel {
  readonly url: string
  /** Turns so far, in order of arrival. */
  requests(): readonly RecordedRequest[]
  titles(): readonly RecordedRequest[]
  compactions(): readonly RecordedRequest[]
  /** Turns of one session. */
  of(sessionId: string): readonly RecordedRequest[]
  /** The first request, past or coming, that matches. */
  waitFor(matches: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Ends every connection, also those of hanging answers. */
  close(): Promise<void>
}

export interface ScriptedModel extends RecordingModel {
  /** Requests that no step was left for, and other surprises. Assert that it is empty. */
  faults(): readonly string[]
  /** Steps of all scripts that were not used. */
  remaining(): number
  /** Appends steps to a script; `main` by default. */
  add(steps: readonly ModelStep[], script?: string): void
}

/** Starts a model on loopback. Scripts that run out answer with an error and leave a fault. */
export function startScriptedModel(
  scripts?: ModelStep[] | Record<string, ModelStep[]>,
  options?: ScriptedModelOptions,
): Promise<ScriptedModel>
/** A step that calls one tool; string arguments are sent as they are. */
export function callTool(name: string, args: unknown, text?: string): ModelAnswer
/** Starts a recording door on loopback to a real service with this base address. */
export function startForwardingModel(upstream: string): Promise<RecordingModel>

// --- running --------------------------------------------------------------------------------

export interface HostProcessOptions {
  readonly home: Home
  /** Its address and a key that is none go into the environment. */
  readonly model: RecordingModel
  /** Working directory of the process; `home.project()` by default. */
  readonly cwd?: string
  /** Added to the host's environment, and wins over what is there. */
  readonly env?: Record<string, string>
  /** Paths for `--patch`. */
  readonly patches?: readonly string[]
  /** The process is ended by its pid when this is over. */
  readonly timeoutMs?: number
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
}

export interface HeadlessResult extends Ended {
  /** Turns that the model was asked in this run. */
  readonly requests: readonly RecordedRequest[]
}

/** Runs `dsh --profile <profile> <task>` to its end. */
export function runHeadless(options: HostProcessOptions & { readonly task: string }): Promise<HeadlessResult>
/** The whole environment of a host process; nothing else of this process's environment reaches it. */
export function hostEnvironment(host: Host, options: HostProcessOptions): NodeJS.ProcessEnv

/** What came of one turn. */
export interface TurnSummary {
  /** The last text the model said. */
  text: string
  toolCalls: { id: string; name: string; arguments: string; isError: boolean; result: string }[]
  /** How the turn ended; missing when it was cancelled during a model request. */
  reason?: { kind: string; [detail: string]: unknown }
}

/** What a session gives to the model, as the host assembles it. */
export interface Inspection {
  readonly tools: readonly string[]
  readonly sections: readonly { name: string; text: string }[]
  readonly contexts: readonly { name: string; text: string }[]
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly commands: readonly string[]
}

/** A running host. Every method rejects with the host's own error. */
export interface DrivenHost {
  readonly pid: number
  /** A new session; resolves with its id. Without `cwd` the session has no project. */
  create(meta: { cwd?: string; [field: string]: unknown }): Promise<string>
  /** One user message; resolves when the session is idle again and written to disk. */
  say(sessionId: string, text: string): Promise<TurnSummary>
  /** Cancels the turn in flight, as the user does. */
  cancel(sessionId: string): Promise<void>
  /** Writes the session to disk and lets its agent go; it can be resumed. */
  end(sessionId: string): Promise<void>
  /** Loads an ended session again; resolves with its id, which stays the same. */
  resume(sessionId: string): Promise<string>
  /** A user's fork after the last completed turn; resolves with the new id. */
  fork(sessionId: string): Promise<string>
  /** Compacts now; false when there was nothing to compact. */
  compact(sessionId: string): Promise<boolean>
  /** Changes a row through the loader, for example `{ disabled: true }`; resolves when all rows are settled. */
  setRow(id: string, change: { disabled?: boolean; config?: unknown }): Promise<void>
  rows(): Promise<{ id: string; name: string; disabled: boolean }[]>
  inspect(sessionId: string): Promise<Inspection>
  /** The durable header; a sub-agent's is among `events` of nobody, see its requests. */
  header(sessionId: string): Promise<Record<string, unknown>>
  /** The session's whole log. */
  events(sessionId: string): Promise<{ seq: number; type: string; data: unknown }[]>
  /**
   * Runs a function inside the host, for what no method does. It gets the driver's context, the
   * argument, and the agent when a session is named; it must not use anything of its surroundings,
   * and argument and result cross as JSON.
   */
  evaluate<A, R>(
    // biome-ignore lint/suspicious/noExplicitAny: the host's types are not here
    body: (ctx: any, argument: A, agent: any) => R | Promise<R>,
    argument?: A,
    sessionId?: string,
  ): Promise<R>
  /** Lets everything go and ends the process. */
  exit(code?: number): Promise<Ended>
  /** Ends the process by its pid; harmless when it has ended. */
  kill(): Promise<Ended>
}

/** Boots a host, hands it to `script`, ends it in every case; rejects when it exits with a code other than 0. */
export function drive<T>(
  options: HostProcessOptions,
  script: (host: DrivenHost) => Promise<T>,
): Promise<T>
/** Boots a host; the caller ends it with `exit` or `kill`. */
export function startHost(options: HostProcessOptions): Promise<DrivenHost>
