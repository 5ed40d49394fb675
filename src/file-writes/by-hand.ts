/**
 * A memory file that a model changes with the host's own tools.
 *
 * Role: decides whether a call that the sandbox has refused is one that memory
 * allows, asks the host's approval service, and carries it out. Loaded at the
 * first such call. Hooks were asked before the call was run; sub-agents,
 * read-only sessions and an approval policy of `never` stay refused; plan mode
 * does not count (the reference's rule). An escalated call is answered here
 * too and never run, so that it is stamped and its file goes to the trash.
 */
import type { JsonValue, ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import type { ApprovalOutcome } from '@deepseek-ai/dsh-user-approval'
import type { ProjectMemoryPaths } from '../types.ts'
import type { ByHandHost, Call } from './host.ts'
import type { MemoryCall } from './memory-call.ts'
import { isEscalated, parseMemoryCall } from './memory-call.ts'
import { failure, failureOf, success } from './outcome.ts'
import type { MemoryFile } from './qualify.ts'
import { qualifyPath } from './qualify.ts'
import { removeThrough } from './removal.ts'
import { editThrough, writeThrough } from './write-through.ts'

/** The one mode in which a refusal is set aside. */
const CONFINED_MODE = 'workspace-write'

/**
 * Carry out a refused or escalated call, if it is a change of memory files.
 * @param call - the tool call.
 * @param refused - what the sandbox said; `undefined` for an escalated call that was not run.
 * @returns the result in its place, or `undefined` when the call is none of ours: nothing was changed.
 */
export async function changeByHand(
  host: ByHandHost,
  call: Call,
  refused: ToolExecutionResult | undefined,
): Promise<ToolExecutionResult | undefined> {
  const wanted = parseMemoryCall(call.name, call.arguments)
  if (wanted === undefined || (refused === undefined && !isEscalated(call.arguments))) {
    return undefined
  }
  const { isSubAgent, project, sandboxMode } = host.callerOf(call.agent)
  if (isSubAgent || project === undefined || sandboxMode !== CONFINED_MODE) return undefined
  const files = await qualifyAll(wanted, project)
  if (files === undefined) return undefined
  const what = describe(wanted, files)
  const outcome = await ask(host, call, what)
  if (outcome !== 'allowed-once') return notAllowed(outcome, what, refused)
  try {
    return success(await carryOut(host, { call, files, project, refused, wanted }))
  } catch (error) {
    return failureOf(error)
  }
}

/** @returns the files, or `undefined` unless each of them qualifies. */
async function qualifyAll(
  wanted: MemoryCall,
  { root }: ProjectMemoryPaths,
): Promise<MemoryFile[] | undefined> {
  const isRemoval = wanted.kind === 'remove'
  const files: MemoryFile[] = []
  for (const path of wanted.paths) {
    const file = await qualifyPath(path, root, !isRemoval)
    if (file === undefined) return undefined
    if (isRemoval && !file.exists && !wanted.isForced) return undefined
    files.push(file)
  }
  return isRemoval && files.every(({ exists }) => !exists) ? undefined : files
}

function describe({ kind }: MemoryCall, files: readonly MemoryFile[]): string {
  return `${kind} ${files.map(({ fileName }) => fileName).join(', ')}`
}

/** @returns `undefined` when nobody can be asked: without an agent, or outside a turn. */
async function ask(
  host: ByHandHost,
  { agent, callId, name: toolName, signal }: Call,
  what: string,
): Promise<ApprovalOutcome | undefined> {
  if (agent === undefined) return undefined
  try {
    return await host.ask({ agent, toolName, callId, reason: `project memory: ${what}`, signal })
  } catch {
    return undefined
  }
}

/** A rejection is told, since the sandbox's own text invites to try again. */
function notAllowed(
  outcome: ApprovalOutcome | undefined,
  what: string,
  refused: ToolExecutionResult | undefined,
): ToolExecutionResult | undefined {
  if (outcome === undefined) return undefined
  if (outcome === 'rejected') {
    return failure(`approval was rejected (project memory: ${what}); do not try it again`)
  }
  if (refused !== undefined) return undefined
  return outcome === 'cancelled'
    ? failure(`approval was cancelled (project memory: ${what})`)
    : failure(`approval is needed, but no approval channel is available (project memory: ${what})`)
}

interface Granted {
  call: Call
  files: readonly MemoryFile[]
  project: ProjectMemoryPaths
  refused: ToolExecutionResult | undefined
  wanted: MemoryCall
}

async function carryOut(
  host: ByHandHost,
  { call, files, project, refused, wanted }: Granted,
): Promise<JsonValue> {
  const store = await host.storeOf(project)
  const { agent } = call
  const sessionId = agent?.session.id
  if (wanted.kind === 'remove') {
    return removeThrough(host, { call, files, store, sessionId, refused: refused?.value })
  }
  const [file] = files
  if (file === undefined) throw new TypeError('a change of a file without a file')
  const policy = host.sandboxPolicy.resolve(agent === undefined ? {} : { session: agent.session })
  const change = { call, file, store, sessionId, policy }
  return wanted.kind === 'write'
    ? writeThrough(host, wanted, change)
    : editThrough(host, wanted, change)
}
