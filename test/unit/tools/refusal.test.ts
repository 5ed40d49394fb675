import { expect, test } from 'vitest'
import type { CallerFacts } from '../../../src/tools/refusal.ts'
import { permissionToChange } from '../../../src/tools/refusal.ts'

const project = {
  root: '/m',
  indexFilePath: '/m/MEMORY.md',
  slug: 'a',
  hash: 'b',
  projectRoot: '/w',
}

const caller = (facts: Partial<CallerFacts> = {}): CallerFacts => ({
  project,
  isSubAgent: false,
  sandboxMode: 'workspace-write',
  sessionId: 'session-1',
  ...facts,
})

test.each(['workspace-write', 'danger-full-access', undefined])(
  'a main session may change its memory in sandbox mode %s',
  (sandboxMode) => {
    const permission = permissionToChange(caller({ sandboxMode }), false, 'saved')
    expect(permission).toEqual({ project, reason: undefined })
  },
)

test('a sub-agent may not, is told where to put what it found, and may when sub-agents are allowed', () => {
  const facts = caller({ isSubAgent: true })
  const refused = permissionToChange(facts, false, 'saved')
  expect(refused).toEqual({
    project: undefined,
    reason: expect.stringMatching(/^nothing was saved: a sub-agent .* report$/),
  })
  expect(permissionToChange(facts, true, 'saved')).toEqual({ project, reason: undefined })
})

test('a session without project is told so, also a sub-agent that would be allowed', () => {
  for (const isSubAgent of [false, true]) {
    const facts = caller({ project: undefined, isSubAgent, sandboxMode: 'read-only' })
    expect(permissionToChange(facts, true, 'forgotten').reason).toMatch(
      /^nothing was forgotten: .* no working directory/,
    )
  }
})

test('a read-only session is refused with an error that names the mode and what to do', () => {
  const refused = (): unknown =>
    permissionToChange(caller({ sandboxMode: 'read-only' }), true, 'forgotten')
  expect(refused).toThrow(
    expect.objectContaining({
      code: 'READ_ONLY',
      message: expect.stringMatching(/^nothing was forgotten: .* read-only; ask the user/),
    }),
  )
})
