/**
 * Letting a model change memory files with the host's own tools.
 *
 * Role: the listeners, light enough for the start-up path and for every tool
 * call: a call is looked at by its name and a word in its arguments, and the
 * rest is loaded at the first call that the sandbox refused, or that is
 * escalated, and that names the session's memory directory. The host runs the
 * call first; its hooks have been asked by then.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-fs'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import type { ToolDispatchExecution, ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import type {} from '@deepseek-ai/dsh-user-approval'
import { basename, dirname, sep } from 'node:path'
import type { InjectedMemory } from '../session/session-memory.ts'
import type { MemoryToolOptions } from '../tools/memory-tool.ts'
import type { CallerFacts } from '../tools/refusal.ts'
import type { MemoryStores } from '../tools/stores.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { ByHandHost, HostFiles } from './host.ts'

/** What comes in by the door. */
export interface FileWritesOptions {
  /** Whether a change is granted by us or asked of the user. */
  memoryFileWrites: 'allow' | 'ask'
  callerOf: (agent: unknown) => CallerFacts
  stores: () => Promise<MemoryStores>
  /** What a session was given of its index. */
  injected: (agent: Agent) => InjectedMemory
}

/** The host's code for a file operation that the sandbox has refused. */
const SANDBOX_DENIED = 'FS_SANDBOX_DENIED'

/** The sandbox tells these refusals apart from other failures; see {@link isRefused}. */
const PLAIN_RM = /^\s*rm\s/u

/**
 * Mount the listeners; the host takes them away with the plugin.
 * @param options - see {@link FileWritesOptions}.
 */
export function mountFileWrites(ctx: Context, options: FileWritesOptions): void {
  const granted = new WeakSet<object>()
  if (options.memoryFileWrites === 'allow') {
    // Before the listeners that put the question on a screen.
    const answer = { prepend: true }
    ctx.on(
      'approval/request',
      (request, next) => (granted.has(request) ? Promise.resolve('allowed-once') : next()),
      answer,
    )
  }
  const orUndefined = withoutFailing(ctx)
  ctx.on('tools/execute', async (call, next) => {
    if (!mayNameMemory(call)) return next()
    if ((await orUndefined(() => namesOwnMemory(call, options))) !== true) return next()
    const isEscalated = Object.hasOwn(call.arguments as object, 'sandbox_permissions')
    const refused = isEscalated ? undefined : await next()
    if (refused !== undefined && !isRefused(refused)) return refused
    const result = await orUndefined(async () => {
      const host = byHandHost(ctx, options, granted)
      if (host === undefined) return undefined
      const { changeByHand } = await import('./by-hand.ts')
      return changeByHand(host, call, refused)
    })
    return result ?? refused ?? next()
  })
  observeInjectedIndexes(ctx, options)
}

/** An unforeseen error of ours must not fail a tool call: it stays as the host left it. */
function withoutFailing(ctx: Context) {
  return async <T>(step: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await step()
    } catch (error) {
      ctx.logger.warn('project memory: a change by hand was not looked at: %o', error)
      return undefined
    }
  }
}

/** @returns the argument that may name a memory file, `''` without one. */
function nameInArguments({ arguments: args, name }: ToolDispatchExecution): string {
  const { command, file_path: path } = (args ?? {}) as { command?: unknown; file_path?: unknown }
  if (name === 'write' || name === 'edit') return typeof path === 'string' ? path : ''
  return name === 'bash' && typeof command === 'string' && PLAIN_RM.test(command) ? command : ''
}

/** Whether a call may be about a memory file; few others get this far. */
function mayNameMemory(call: ToolDispatchExecution): boolean {
  return call.agent !== undefined && nameInArguments(call).includes('.md')
}

/** Whether it names the memory directory of its own session. */
function namesOwnMemory(call: ToolDispatchExecution, { callerOf }: FileWritesOptions): boolean {
  const { project } = callerOf(call.agent)
  return project !== undefined && nameInArguments(call).includes(ownPart(project))
}

/** The part of the directory's path that is the same in every spelling: no link may stand in it. */
function ownPart({ root }: ProjectMemoryPaths): string {
  return `${sep}${basename(dirname(root))}${sep}${basename(root)}${sep}`
}

/** Whether the sandbox refused it: an error of the file tools, a normal result of the shell. */
function isRefused(result: ToolExecutionResult): boolean {
  if (result.isError) return result.error.info?.code === SANDBOX_DENIED
  const { value } = result
  if (typeof value !== 'object' || value === null || !('sandbox' in value)) return false
  const { sandbox } = value
  return typeof sandbox === 'object' && (sandbox as { denied?: unknown } | null)?.denied === true
}

/**
 * What the host offers for files.
 * @returns `undefined` where it has no files.
 */
function hostFiles(ctx: Context): HostFiles | undefined {
  const fs = ctx.get('fs')
  if (fs === undefined) return undefined
  return {
    fs,
    writeIntent: (target, actor) =>
      ctx.waterfall('fs/write-intent', target, actor, () => undefined),
    editIntent: (target, actor) => ctx.waterfall('fs/edit-intent', target, actor, () => undefined),
    observed: (target, observation, actor) => {
      ctx.emit('fs/observed', target, observation, actor)
    },
  }
}

/** @returns `undefined` where nobody can be asked or nothing is confined. */
function byHandHost(
  ctx: Context,
  { callerOf, stores }: FileWritesOptions,
  granted: WeakSet<object>,
): ByHandHost | undefined {
  const approval = ctx.get('approval')
  const files = hostFiles(ctx)
  const sandboxPolicy = ctx.get('sandboxPolicy')
  if (approval === undefined || files === undefined || sandboxPolicy === undefined) return undefined
  return {
    ...files,
    sandboxPolicy,
    callerOf,
    ask: (request) => {
      granted.add(request)
      return approval.request(request)
    },
    storeOf: async (project) => (await stores()).of(project),
  }
}

/** @returns what our own tools run a change of the index in; see `index-observed.ts`. */
export function keepIndexObservedIn(
  ctx: Context,
): NonNullable<MemoryToolOptions['keepIndexObserved']> {
  return async (agent, project, change) => {
    const files = hostFiles(ctx)
    if (files === undefined || agent === undefined) return change()
    const { keepIndexObserved } = await import('./index-observed.ts')
    return keepIndexObserved(files, { agent: agent as Agent }, project, change)
  }
}

/** Before a step, an index that the session was given whole counts as read; once for each reading. */
function observeInjectedIndexes(ctx: Context, { injected }: FileWritesOptions): void {
  const observed = new WeakMap<object, unknown>()
  ctx.on('agent/pre-step', async ({ agent }, next) => {
    const decision = await next()
    try {
      const { index, project } = injected(agent)
      if (project === undefined || index.kind !== 'shown') return decision
      if (observed.get(agent.session) === index) return decision
      observed.set(agent.session, index)
      const files = hostFiles(ctx)
      const { observeInjectedIndex } = await import('./index-observed.ts')
      if (files !== undefined) await observeInjectedIndex(files, { agent }, project, index)
    } catch (error) {
      ctx.logger.warn('project memory: the index is not counted as read: %o', error)
    }
    return decision
  })
}
