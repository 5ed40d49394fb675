/** Who may change memory files by hand, and who is asked. */
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ESCALATION, STAMP, byHandWorld as world, header } from '../../support/by-hand-world.ts'
import { fileOf, memoryFilesOf } from '../../support/test-memory.ts'

describe('an escalated call', () => {
  test('is carried out like a plain one, and never run', async () => {
    const memory = await world()
    const { at, run, write } = memory
    expect(await write('b.md', header(), ESCALATION)).toMatchObject({ isError: false })
    expect(await fileOf(memory, 'b.md')).toBe(header(...STAMP))
    expect(await run(`rm ${at('a.md')}`, ESCALATION)).toMatchObject({
      value: { kind: 'foreground', exitCode: 0, sandbox: { mode: 'workspace-write' } },
    })
    expect(await memory.store.listTrash()).toHaveLength(1)
  })

  test('is left to the host when it is not in due form', async () => {
    const { write } = await world()
    const args = { ...ESCALATION, sandbox_permissions: 'workspace-write' }
    expect(await write('b.md', 'B', args)).toBeUndefined()
  })

  test.each([
    ['rejected', 'approval was rejected (project memory: write b.md); do not try it again'],
    ['cancelled', 'approval was cancelled (project memory: write b.md)'],
    [
      'unavailable',
      'approval is needed, but no approval channel is available (project memory: write b.md)',
    ],
  ] as const)('fails when the question is %s', async (outcome, message) => {
    const memory = await world()
    const { host, write } = memory
    host.outcome = outcome
    expect(await write('b.md', 'B', ESCALATION)).toMatchObject({ error: { message } })
    expect(await memoryFilesOf(memory)).toEqual(['a.md'])
  })
})

describe('a plain call', () => {
  test.each(['cancelled', 'unavailable'] as const)(
    'keeps the text of the sandbox when the question is %s',
    async (outcome) => {
      const memory = await world()
      const { host, write } = memory
      host.outcome = outcome
      expect(await write('b.md', 'B')).toBeUndefined()
      expect(await memoryFilesOf(memory)).toEqual(['a.md'])
    },
  )

  test('says so when it was rejected, instead of inviting another try', async () => {
    const { at, host, run, write } = await world()
    host.outcome = 'rejected'
    const error = { message: expect.stringContaining('approval was rejected') }
    expect(await write('b.md', 'B')).toMatchObject({ isError: true, error })
    expect(await run(`rm ${at('a.md')}`)).toMatchObject({ isError: true, error })
  })

  test('is left to the sandbox when nobody can be asked', async () => {
    const { host, write } = await world()
    host.outcome = new Error('outside an open turn')
    expect(await write('b.md', 'B')).toBeUndefined()
  })

  test.each([
    ['a sub-agent', { isSubAgent: true }],
    ['a session without project', { project: undefined }],
    ['a read-only session', { sandboxMode: 'read-only' }],
    ['a host without sandbox', { sandboxMode: undefined }],
  ])('of %s is not even asked about', async (_who, facts) => {
    const memory = await world()
    const { host, write } = memory
    host.caller = { ...host.caller, ...facts }
    expect(await write('b.md', 'B')).toBeUndefined()
    expect(await write('b.md', 'B', ESCALATION)).toBeUndefined()
    expect(host.asked).toEqual([])
    expect(await memoryFilesOf(memory)).toEqual(['a.md'])
  })

  test('names a failing lock or disk as it is', async () => {
    const { home, paths, write } = await world({})
    await mkdir(join(home, 'memories', 'projects'), { recursive: true })
    await mkdir(join(home, 'elsewhere', 'memory'), { recursive: true })
    await symlink(join(home, 'elsewhere'), join(paths.root, '..'))
    expect(await write('b.md', 'B')).toMatchObject({
      error: { info: { name: 'MemoryError', code: 'UNSAFE_PATH' } },
    })
    expect(await readdir(join(home, 'elsewhere', 'memory'))).toEqual([])
  })
})
