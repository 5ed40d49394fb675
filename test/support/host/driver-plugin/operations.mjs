/**
 * What a test can have done inside the host: sessions, turns, rows, and looking around.
 *
 * Every value returned here is plain JSON: it crosses a process border.
 */
import { randomUUID } from 'node:crypto'
import { runInThisContext } from 'node:vm'
import { summarizeTurn } from './turn-summary.mjs'

/** @typedef {{ agent: any, dispose: () => Promise<void> }} Handle */

/**
 * @param {any} ctx the context of the driver's row.
 * @returns operations by name; each may be async, and rejects with the host's own error.
 */
export function createOperations(ctx) {
  /** @type {Map<string, Handle>} */
  const handles = new Map()
  const agentOf = (/** @type {string} */ sessionId) => {
    const handle = handles.get(sessionId)
    if (handle === undefined) throw new Error(`the driver holds no live session ${sessionId}`)
    return handle.agent
  }
  const keep = (/** @type {Handle} */ handle) => {
    handles.set(handle.agent.id, handle)
    return handle.agent.id
  }
  const options = () => {
    const { provider, model } = ctx.agentDefaultModel.currentSelection()
    return { agentOptions: { provider, model } }
  }
  return {
    async create(/** @type {{ cwd?: string }} */ meta) {
      const sessionId = `session-${randomUUID()}`
      return keep(await ctx.agents.create({ sessionId, meta, ...options() }))
    },

    async say(/** @type {string} */ sessionId, /** @type {string} */ text) {
      const agent = agentOf(sessionId)
      const firstSeq = agent.session.seq
      agent.followup(userMessage(text))
      await agent.whenIdle()
      await ctx.sessions.flush(agent.session)
      return summarizeTurn(agent.session.events, firstSeq)
    },

    cancel(/** @type {string} */ sessionId) {
      agentOf(sessionId).cancel({ kind: 'user' }, {})
    },

    async end(/** @type {string} */ sessionId) {
      const agent = agentOf(sessionId)
      await ctx.sessions.flush(agent.session)
      await handles.get(sessionId)?.dispose()
      handles.delete(sessionId)
    },

    async resume(/** @type {string} */ resumeSessionId) {
      return keep(await ctx.agents.resume({ resumeSessionId, ...options() }))
    },

    async fork(/** @type {string} */ sessionId) {
      const { session } = agentOf(sessionId)
      const seed = completedTurns(session.events)
      const meta = { cwd: session.header.cwd, parentSession: sessionId, seedLength: seed.length }
      return keep(
        await ctx.agents.create({ sessionId: `session-${randomUUID()}`, seed, meta, ...options() }),
      )
    },

    async compact(/** @type {string} */ sessionId) {
      const result = await ctx
        .get('compaction')
        .compactNow(agentOf(sessionId), new AbortController().signal)
      return result !== null
    },

    async setRow(/** @type {string} */ id, /** @type {object} */ change) {
      const entry = findRow(ctx, id)
      await entry.parent.tree.update(id, change)
      await ctx.get('loader').await()
    },

    rows() {
      return [...ctx.get('loader').entries()].map((entry) => ({
        id: entry.options.id,
        name: entry.options.name,
        disabled: entry.disabled,
      }))
    },

    async inspect(/** @type {string} */ sessionId) {
      const agent = agentOf(sessionId)
      const assembly = await ctx.systemPrompt.assemble({ agent, scope: agent })
      const commands = ctx.get('commands')?.list(agent) ?? []
      return {
        tools: ctx.tools.schemas(agent).map((/** @type {any} */ tool) => tool.name),
        sections: assembly.sections,
        contexts: assembly.contexts,
        variables: assembly.variables,
        commands: commands.map((/** @type {any} */ command) => command.name),
      }
    },

    header(/** @type {string} */ sessionId) {
      return agentOf(sessionId).session.header
    },

    events(/** @type {string} */ sessionId) {
      return agentOf(sessionId).session.events
    },

    evaluate(
      /** @type {string} */ source,
      /** @type {unknown} */ argument,
      /** @type {string | null} */ sessionId,
    ) {
      const body = /** @type {(...args: any[]) => unknown} */ (runInThisContext(`(${source})`))
      return body(ctx, argument, typeof sessionId === 'string' ? agentOf(sessionId) : undefined)
    },

    exit(/** @type {number} */ code) {
      // After the reply is on its way: the exit closes the channel.
      setImmediate(() => ctx.get('appExit')(code))
    },
  }
}

/** @param {string} text */
function userMessage(text) {
  const content = Object.freeze([Object.freeze({ type: 'text', text })])
  return Object.freeze({
    id: randomUUID(),
    role: 'user',
    content,
    source: Object.freeze({ kind: 'user' }),
  })
}

/**
 * The log up to the end of the last completed turn and what belongs to it, as the web host cuts it.
 * @param {readonly { type: string }[]} events
 */
function completedTurns(events) {
  const last = events.findLastIndex((event) => event.type === 'turn/end')
  if (last === -1) throw new Error('a session without a completed turn cannot be forked')
  const next = events.findIndex((event, index) => index > last && event.type === 'turn/start')
  return events.slice(0, next === -1 ? events.length : next)
}

/** @param {any} ctx @param {string} id */
function findRow(ctx, id) {
  const entry = [...ctx.get('loader').entries()].find((candidate) => candidate.options.id === id)
  if (entry === undefined) throw new Error(`the host has no row ${id}`)
  return entry
}
