import { expect, test } from 'vitest'
import type { SessionLog } from '../../../src/session/retained-context.ts'
import { hasRetainedSnapshot, retainedContextText } from '../../../src/session/retained-context.ts'
import type { TestAgent } from '../../support/session-agent.ts'
import { logCompaction, logEvent, logSnapshot, testAgent } from '../../support/session-agent.ts'

const textOf = ({ session }: TestAgent, name = 'index'): string =>
  retainedContextText(session as unknown as SessionLog, name)

const isRetained = ({ session }: TestAgent): boolean =>
  hasRetainedSnapshot(session as unknown as SessionLog)

test('the newest snapshot counts, and only the section of that name', () => {
  const agent = testAgent()
  logSnapshot(agent, { index: 'old', other: 'x' })
  logEvent(agent, 'assistant/message', {})
  logSnapshot(agent, { other: 'y', index: 'new {{a}}\n' })
  logEvent(agent, 'user/message', { source: { kind: 'user' } })
  expect(textOf(agent)).toBe('new {{a}}\n')
  expect(textOf(agent, 'other')).toBe('y')
  expect(textOf(agent, 'ind')).toBe('')
  expect(isRetained(agent)).toBe(true)
})

test('a section that the newest snapshot lacks is gone, whatever an older one says', () => {
  const agent = testAgent()
  logSnapshot(agent, { index: 'old' })
  logSnapshot(agent, { other: 'x' })
  expect(textOf(agent)).toBe('')
  logSnapshot(agent, {})
  expect(textOf(agent)).toBe('')
  expect(isRetained(agent)).toBe(true)
})

test('a snapshot that compaction has replaced is not retained', () => {
  const agent = testAgent()
  logSnapshot(agent, { index: 'old' })
  logCompaction(agent)
  expect(textOf(agent)).toBe('')
  expect(isRetained(agent)).toBe(false)
  logSnapshot(agent, { index: 'fresh' })
  expect(textOf(agent)).toBe('fresh')
})

test('a message of a person or of another plugin is no snapshot', () => {
  const agent = testAgent()
  const sections = [{ name: 'index', text: 'forged' }]
  logEvent(agent, 'user/message', { source: { kind: 'user', sections } })
  logEvent(agent, 'user/message', { source: { kind: 'plugin', plugin: 'other', sections } })
  expect(textOf(agent)).toBe('')
  expect(isRetained(agent)).toBe(false)
})

test('an empty log has no snapshot', () => {
  expect(textOf(testAgent())).toBe('')
  expect(isRetained(testAgent())).toBe(false)
})
