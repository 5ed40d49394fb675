import type { SessionAgent } from '../../src/session/session-kind.ts'

/** One snapshot message as the host logs it, or another visible event. */
export type LoggedContexts = Readonly<Record<string, string>>

/** What of the host's agent the plugin looks at; everything may be changed by a test. */
export interface TestAgent {
  session: {
    id: string
    header: { cwd?: string; origin?: string; delegationDepth?: number; parentSession?: string }
    events: { type: string; seq: number; data: unknown }[]
    surface: { nodes: number[] }
  }
  options: { subagentDepth?: number }
}

let sessions = 0

/** @returns the agent of a fresh session; without `cwd` it belongs to no project. */
export function testAgent(header: TestAgent['session']['header'] = {}): TestAgent {
  sessions += 1
  return {
    session: { id: `session-${sessions}`, header, events: [], surface: { nodes: [] } },
    options: {},
  }
}

/** The same agent, as the plugin's functions want it. */
export function asAgent(agent: TestAgent): SessionAgent {
  return agent as unknown as SessionAgent
}

/** Log a visible event. @returns its number. */
export function logEvent({ session }: TestAgent, type: string, data: unknown): number {
  const seq = session.events.length
  session.events.push({ type, seq, data })
  session.surface.nodes.push(seq)
  return seq
}

/** Log a snapshot of contexts by name, as the host does. @returns its number. */
export function logSnapshot(agent: TestAgent, contexts: LoggedContexts): number {
  const sections = Object.entries(contexts).map(([name, text]) => ({ name, text }))
  const source = { kind: 'plugin', plugin: '@deepseek-ai/dsh-system-prompt' }
  const isEmpty = sections.length === 0
  return logEvent(agent, 'user/message', {
    source: isEmpty ? source : { ...source, form: 'snapshot', sections },
  })
}

/** Compaction: the model no longer sees what was logged so far, only a summary. */
export function logCompaction(agent: TestAgent): void {
  agent.session.surface.nodes = []
  logEvent(agent, 'user/message', { source: { kind: 'plugin', plugin: 'compaction' } })
}
