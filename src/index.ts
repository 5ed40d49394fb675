/**
 * Plugin entry for DeepSeek Harness: long-term memory of a project.
 *
 * Role: wiring only. Registers the tool, the guidance section, the index
 * context and the prompt variable that stands for two braces. Starts no
 * subsystem and makes no directory before the first save.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-sandbox-policy'
import type {} from '@deepseek-ai/dsh-system-prompt'
import type {} from '@deepseek-ai/dsh-tools'
import type { Config as PluginConfig } from './config.ts'
import { resolveConfig } from './config.ts'
import { PROMPT_BRACES_VALUE, PROMPT_BRACES_VARIABLE } from './prompt/escape.ts'
import { isSubAgent } from './session/session-kind.ts'
import { INDEX_CONTEXT_NAME, SessionMemory } from './session/session-memory.ts'
import type { Caller } from './tools/save.ts'
import { createSaveTool } from './tools/save.ts'
import { MemoryStores } from './tools/stores.ts'

export { Config } from './config.ts'

/** Name of the plugin and id of its row. */
export const name = 'project-memory'

/** Host services that must be there before the plugin starts. */
export const inject = ['tools', 'systemPrompt']

/** Registered name of the guidance section. */
const GUIDANCE_SECTION_NAME = 'project-memory'

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
  const memory = new SessionMemory({
    config: resolved,
    env: process.env,
    warn: (message) => ctx.logger.warn(message),
  })
  const stores = new MemoryStores()
  const callerOf = (agent: unknown): Caller =>
    describeCaller(ctx, memory, agent as Agent | undefined)

  ctx.effect(() => () => stores.close())
  ctx.tools.register(createSaveTool({ config: resolved, stores, callerOf }))
  ctx.systemPrompt.variable(PROMPT_BRACES_VARIABLE, () => PROMPT_BRACES_VALUE)
  ctx.systemPrompt.section({
    name: GUIDANCE_SECTION_NAME,
    order: GUIDANCE_ORDER,
    text: ({ agent }) => (agent === undefined ? '' : memory.guidanceText(agent)),
  })
  ctx.systemPrompt.context({
    name: INDEX_CONTEXT_NAME,
    order: INDEX_ORDER,
    text: ({ agent }) => (agent === undefined ? '' : memory.indexText(agent)),
  })
  ctx.on('agent/session-start', ({ agent }) => memory.open(agent))
  ctx.on('session/event', (session, event) => {
    if (isHistoryReplacement(event)) memory.onHistoryReplaced(session)
  })
}

/** Compaction and pruning put an event in the place of others. */
function isHistoryReplacement(event: object): boolean {
  return 'surfaceOp' in event && typeof event.surfaceOp === 'object' && event.surfaceOp !== null
}

function describeCaller(ctx: Context, memory: SessionMemory, agent: Agent | undefined): Caller {
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
