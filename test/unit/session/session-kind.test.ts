import { expect, test } from 'vitest'
import { isSubAgent } from '../../../src/session/session-kind.ts'
import { asAgent, testAgent } from '../../support/session-agent.ts'

test("a person's session, fork and resumed fork are main sessions", () => {
  expect(isSubAgent(asAgent(testAgent({ cwd: '/w' })))).toBe(false)
  expect(isSubAgent(asAgent(testAgent({ cwd: '/w', parentSession: 'session-0' })))).toBe(false)
  expect(isSubAgent(asAgent(testAgent({ delegationDepth: 0 })))).toBe(false)
  expect(isSubAgent(asAgent(testAgent({ origin: 'web' })))).toBe(false)
})

test('a sub-agent is known by its header, also after a resume, and by its options before that', () => {
  expect(isSubAgent(asAgent(testAgent({ origin: 'subagent' })))).toBe(true)
  expect(isSubAgent(asAgent(testAgent({ delegationDepth: 2 })))).toBe(true)
  expect(isSubAgent(asAgent({ ...testAgent(), options: { subagentDepth: 1 } }))).toBe(true)
})
