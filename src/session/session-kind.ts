/**
 * Which kind of session asks.
 *
 * Role: tells a main session (a person's, also a resumed one or a person's
 * fork) from a sub-agent's. `parentSession` is the wrong test: a person's fork
 * has one too.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'

/** The part of the host's agent that is looked at. */
export type SessionAgent = Pick<Agent, 'session' | 'options'>

/**
 * @param agent - the session's agent.
 * @returns whether it is a sub-agent, by its durable header or, before that is known, its options.
 */
export function isSubAgent(agent: SessionAgent): boolean {
  const { delegationDepth = 0, origin } = agent.session.header
  const { subagentDepth = 0 } = agent.options as { subagentDepth?: number }
  return origin === 'subagent' || delegationDepth > 0 || subagentDepth > 0
}
