/**
 * Plugin entry for DeepSeek Harness: long-term memory of a project.
 *
 * Role: wiring only. Registers the tool, the guidance section, the index
 * context and the prompt variable that stands for two braces. Starts no
 * subsystem and makes no directory before the first save. It imports only what
 * the definitions need; the rest is loaded by the first session or call.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import type {} from '@deepseek-ai/dsh-system-prompt'
import type {} from '@deepseek-ai/dsh-tools'
import type { Config as PluginConfig, ResolvedConfig } from './config.ts'
import { mountMemoryCommand } from './commands/memory.ts'
import { resolveConfig } from './config.ts'
import { keepIndexObservedIn, mountFileWrites } from './file-writes/mount.ts'
import { loadSessionMemory } from './lazy.ts'
import { PROMPT_BRACES_VALUE, PROMPT_BRACES_VARIABLE } from './prompt/escape.ts'
import { GUIDANCE_SECTION_NAME, INDEX_CONTEXT_NAME } from './session/names.ts'
import { isSubAgent } from './session/session-kind.ts'
import type { SessionMemory } from './session/session-memory.ts'
import type { CallerFacts } from './tools/refusal.ts'
import { createForgetTool } from './tools/forget.ts'
import { createSaveTool } from './tools/save.ts'
import type { MemoryStores } from './tools/stores.ts'

export { Config } from './config.ts'

/** Name of the plugin and id of its row. */
export const name = 'project-memory'

/** Host services that must be there before the plugin starts. */
export const inject = ['tools', 'systemPrompt']

/** Place of the guidance after the host's own sections, as in the original plugin. */
const GUIDANCE_ORDER = 950

/** Place of the index among the contexts, as in the original plugin. */
const INDEX_ORDER = 100

/**
 * Mount the plugin. Everything it registers is undone by the host when the row
 * is unloaded; a save in flight is waited for.
 * @param ctx - the host's context.
 * @param config - the row's configuration.
 * @throws MemoryError `INVALID_CONFIG` for an unknown key: the host does not start.
 */
export function apply(ctx: Context, config?: PluginConfig): void {
  const resolved = resolveConfig(config)
  const memory = lazyMemory(ctx, resolved)
  const stores = lazyStores(ctx)
  const orNothing = withoutFailing(ctx)
  const callerOf = (agent: unknown): CallerFacts =>
    describeCaller(ctx, memory(), agent as Agent | undefined)

  const keepIndexObserved = keepIndexObservedIn(ctx)
  const toolOptions = { config: resolved, stores, callerOf, keepIndexObserved }
  ctx.tools.register(createSaveTool(toolOptions))
  if (resolved.forgetTool) ctx.tools.register(createForgetTool(toolOptions))
  mountMemoryCommand(ctx, { config: resolved, memory, stores })
  mountFileWrites(ctx, {
    memoryFileWrites: resolved.memoryFileWrites,
    stores,
    callerOf,
    injected: (agent) => memory().injected(agent),
  })
  ctx.systemPrompt.variable(PROMPT_BRACES_VARIABLE, () => PROMPT_BRACES_VALUE)
  ctx.systemPrompt.section({
    name: GUIDANCE_SECTION_NAME,
    order: GUIDANCE_ORDER,
    text: ({ agent }) => orNothing(() => (agent ? memory().guidanceText(agent) : '')),
  })
  ctx.systemPrompt.context({
    name: INDEX_CONTEXT_NAME,
    order: INDEX_ORDER,
    text: ({ agent }) => orNothing(() => (agent ? memory().indexText(agent) : '')),
  })
  ctx.on('agent/session-start', ({ agent }) => {
    orNothing(() => memory().indexText(agent))
  })
  ctx.on('session/event', (session, event) => {
    if (isHistoryReplacement(event)) memory().onHistoryReplaced(session)
  })
}

function lazyMemory(ctx: Context, config: ResolvedConfig): () => SessionMemory {
  let memory: SessionMemory | undefined
  const warn = (message: string): void => ctx.logger.warn(message)
  return () => {
    memory ??= new (loadSessionMemory().SessionMemory)({ config, env: process.env, warn })
    return memory
  }
}

function lazyStores(ctx: Context): () => Promise<MemoryStores> {
  let stores: Promise<MemoryStores> | undefined
  let isUnloaded = false
  const load = async (): Promise<MemoryStores> => {
    const { MemoryStores: Stores } = await import('./tools/stores.ts')
    const loaded = new Stores()
    if (isUnloaded) await loaded.close()
    return loaded
  }
  ctx.effect(() => async () => {
    isUnloaded = true
    await (await stores)?.close()
  })
  return () => {
    stores ??= load()
    return stores
  }
}

/**
 * A prompt that cannot be built fails the turn, so an unforeseen error costs the
 * memory, not the session. It is told once.
 */
function withoutFailing(ctx: Context): (render: () => string) => string {
  let isTold = false
  return (render) => {
    try {
      return render()
    } catch (error) {
      if (!isTold) ctx.logger.warn('project memory is not shown: %o', error)
      isTold = true
      return ''
    }
  }
}

/** Compaction and pruning put an event in the place of others. */
function isHistoryReplacement(event: object): boolean {
  return 'surfaceOp' in event && typeof event.surfaceOp === 'object' && event.surfaceOp !== null
}

function describeCaller(
  ctx: Context,
  memory: SessionMemory,
  agent: Agent | undefined,
): CallerFacts {
  if (agent === undefined) {
    return { project: undefined, isSubAgent: false, sandboxMode: undefined, sessionId: undefined }
  }
  return {
    project: memory.project(agent),
    isSubAgent: isSubAgent(agent),
    sandboxMode: ctx.get('sandboxPolicy')?.resolve({ session: agent.session }).mode,
    sessionId: agent.session.id,
  }
}
