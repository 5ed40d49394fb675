/** The listeners on the host's own event service. */
import { Context } from '@deepseek-ai/cordis'
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import type { ApprovalOutcome, ApprovalRequest } from '@deepseek-ai/dsh-user-approval'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { keepIndexObservedIn, mountFileWrites } from '../../../src/file-writes/mount.ts'
import type { FileWritesOptions } from '../../../src/file-writes/mount.ts'
import { readInjectedIndex } from '../../../src/session/injected-index.ts'
import { MemoryStores } from '../../../src/tools/stores.ts'
import { diskHost } from '../../support/disk-host.ts'
import { fileOf, givenFiles, testMemory } from '../../support/test-memory.ts'

const DENIED: ToolExecutionResult = {
  isError: true,
  error: { message: 'denied', info: { name: 'FsError', code: 'FS_SANDBOX_DENIED' } },
  content: [],
}
const SETTINGS = { indexLineLimit: 200, indexCharacterLimit: 25_000, overflow: 'head' as const }

/** The host's waterfalls, called without the scope that the host gives them. */
interface Waterfalls {
  waterfall<T>(name: string, ...args: unknown[]): Promise<T>
}

async function mounted(memoryFileWrites: 'allow' | 'ask' = 'allow', earlier?: ApprovalOutcome) {
  const memory = await testMemory()
  const disk = diskHost(memory)
  const ctx = new Context()
  const events = ctx as unknown as Waterfalls
  const answered: ApprovalOutcome[] = []
  ctx.provide('fs', disk.fs as never)
  ctx.provide('sandboxPolicy', disk.sandboxPolicy as never)
  ctx.provide('approval', {
    async request(request: ApprovalRequest) {
      const outcome = await events.waterfall<ApprovalOutcome>('approval/request', request, () =>
        Promise.resolve('unavailable'),
      )
      answered.push(outcome)
      return outcome
    },
  } as never)
  ctx.on('fs/write-intent', (target, actor) => disk.writeIntent(target, actor as object))
  ctx.on('fs/edit-intent', (target, actor) => disk.editIntent(target, actor as object) as never)
  ctx.on('fs/observed', (target, observation) => disk.observed(target, observation, {}))
  if (earlier !== undefined) ctx.on('approval/request', () => Promise.resolve(earlier))
  const stores = new MemoryStores()
  let lookedAt = 0
  let readings = 0
  let { index } = readInjectedIndex(memory.paths, SETTINGS)
  const options: FileWritesOptions = {
    memoryFileWrites,
    stores: async () => stores,
    callerOf: () => {
      lookedAt += 1
      return disk.caller
    },
    injected: () => {
      readings += 1
      return { project: memory.paths, guidance: '', index }
    },
  }
  const fiber = await ctx.plugin({
    name: 'file-writes',
    apply: (inner: Context) => mountFileWrites(inner, options),
  })
  const agent = { session: { id: 's1' } }
  const execute = (
    name: string,
    args: object,
    result: ToolExecutionResult = DENIED,
  ): Promise<ToolExecutionResult> => {
    const { signal } = new AbortController()
    const call = { name, arguments: args, agent, callId: 'c1', signal } as unknown
    return events.waterfall('tools/execute', call, async () => result)
  }
  const step = (session: object): Promise<unknown> =>
    events.waterfall('agent/pre-step', { agent: { session } }, async () => ({ kind: 'enter' }))
  return {
    ...memory,
    ctx,
    disk,
    events,
    fiber,
    answered,
    execute,
    step,
    counts: () => ({ lookedAt, readings }),
    inject: () => ({ index } = readInjectedIndex(memory.paths, SETTINGS)),
  }
}

describe('a refused write in the memory directory', () => {
  test('is carried out at the first try', async () => {
    const world = await mounted()
    const path = join(world.paths.root, 'a.md')
    const result = await world.execute('write', { file_path: path, content: 'A\n' })
    expect(result).toMatchObject({ isError: false, value: { operation: 'create' } })
    expect(await fileOf(world, 'a.md')).toBe('A\n')
    expect(world.answered).toEqual(['allowed-once'])
  })

  test('is granted before others are asked', async () => {
    const world = await mounted('allow', 'rejected')
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    expect(await world.execute('write', args)).toMatchObject({ isError: false })
  })

  test('is not run at all when it is escalated', async () => {
    const world = await mounted()
    const escalation = { sandbox_permissions: 'danger-full-access', justification: 'x' }
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n', ...escalation }
    const run: ToolExecutionResult = { isError: false, value: 'run', content: [] }
    expect(await world.execute('write', args, run)).toMatchObject({
      value: { operation: 'create' },
    })
  })

  test('is asked of others with memoryFileWrites: ask', async () => {
    const world = await mounted('ask')
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    expect(await world.execute('write', args)).toBe(DENIED)
    expect(world.answered).toEqual(['unavailable'])
    world.ctx.on('approval/request', () => Promise.resolve('allowed-once'))
    expect(await world.execute('write', args)).toMatchObject({ isError: false })
  })

  test('stays refused once the plugin is gone', async () => {
    const world = await mounted()
    await world.fiber.dispose()
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    expect(await world.execute('write', args)).toBe(DENIED)
    expect(await readdir(world.home)).toEqual([])
  })

  test('stays refused on a host without approval service', async () => {
    const world = await mounted()
    world.ctx.set('approval', undefined)
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    expect(await world.execute('write', args)).toBe(DENIED)
  })
})

describe('every other call', () => {
  test.each([
    ['read', { file_path: '/m/a.md' }],
    ['write', { file_path: '/m/a.ts', content: '' }],
    ['write', {}],
    ['bash', { command: 'rm x.md', description: '' }],
    ['bash', { command: 'cat a.md' }],
    ['bash', { command: 1 }],
    ['save_project_memory', { key: 'a.md' }],
  ])('passes with its result untouched: %s %j', async (name, args) => {
    const world = await mounted()
    expect(await world.execute(name, args)).toBe(DENIED)
    expect(world.answered).toEqual([])
  })

  test('costs no look at the session unless it may name a memory file', async () => {
    const world = await mounted()
    await world.execute('read', { file_path: '/m/a.md' })
    await world.execute('write', { file_path: '/src/a.ts', content: '' })
    await world.execute('bash', { command: 'cat /m/a.md' })
    expect(world.counts().lookedAt).toBe(0)
  })

  test('passes when it succeeded or failed for another reason', async () => {
    const world = await mounted()
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    const others: ToolExecutionResult[] = [
      { isError: false, value: { path: 'x' }, content: [] },
      { isError: false, value: null, content: [] },
      { isError: false, value: { sandbox: null }, content: [] },
      { isError: false, value: { sandbox: { denied: false } }, content: [] },
      { isError: true, error: { message: 'x' }, content: [] },
      { isError: true, error: { message: 'x', info: { name: 'E', code: 'FS_X' } }, content: [] },
    ]
    for (const result of others) expect(await world.execute('write', args, result)).toBe(result)
    expect(await readdir(world.home)).toEqual([])
  })

  test('is run when an escalation is none of ours', async () => {
    const world = await mounted()
    const done: ToolExecutionResult = { isError: false, value: 'done', content: [] }
    const escalation = { sandbox_permissions: 'danger-full-access', justification: 'x' }
    for (const name of ['MEMORY.sh.md/..', 'sub/a.md']) {
      const args = { file_path: `${world.paths.root}/${name}`, content: '', ...escalation }
      expect(await world.execute('write', args, done)).toBe(done)
    }
    expect(world.answered).toEqual([])
  })

  test('is as the host left it when something unforeseen happens here', async () => {
    const world = await mounted()
    const args = { file_path: join(world.paths.root, 'a.md'), content: 'A\n' }
    world.disk.caller = undefined as never
    expect(await world.execute('write', args)).toBe(DENIED)
    expect(await world.execute('write', { ...args, sandbox_permissions: 'x' })).toBe(DENIED)
  })

  test('keeps its own questions', async () => {
    const world = await mounted()
    const outcome = await world.events.waterfall('approval/request', { reason: 'x' }, () =>
      Promise.resolve('rejected'),
    )
    expect(outcome).toBe('rejected')
  })
})

describe('the index that a session was given', () => {
  test('counts as read from the first step on, once for each reading', async () => {
    const world = await mounted()
    await givenFiles(world, { 'MEMORY.md': '- [A](a.md)\n' })
    world.inject()
    const session = {}
    expect(await world.step(session)).toEqual({ kind: 'enter' })
    const first = world.disk.observation(world.paths.indexFilePath)
    expect(first?.kind).toBe('present')
    await givenFiles(world, { 'MEMORY.md': '- [A](a.md)\n' })
    await world.step(session)
    expect(world.disk.observation(world.paths.indexFilePath)).toEqual(first)
    world.inject()
    await world.step(session)
    expect(world.disk.observation(world.paths.indexFilePath)).not.toEqual(first)
  })

  test('stays known through a change by our own tools', async () => {
    const world = await mounted()
    await givenFiles(world, { 'MEMORY.md': '- [A](a.md)\n' })
    const keep = keepIndexObservedIn(world.ctx)
    const save = () => world.store.save({ key: 'B', content: 'b' })
    await world.disk.read(world.paths.indexFilePath)
    const before = world.disk.observation(world.paths.indexFilePath)
    await keep(undefined, world.paths, async () => ({ fileName: 'x.md' }))
    expect(world.disk.observation(world.paths.indexFilePath)).toEqual(before)
    expect(await keep({}, world.paths, save)).toMatchObject({ fileName: 'b.md' })
    const after = world.disk.observation(world.paths.indexFilePath)
    await world.disk.read(world.paths.indexFilePath)
    expect(after).toEqual(world.disk.observation(world.paths.indexFilePath))
  })

  test('does not keep a host without files from saving', async () => {
    const { paths, store } = await testMemory()
    const keep = keepIndexObservedIn(new Context())
    const save = () => store.save({ key: 'B', content: 'b' })
    expect(await keep({}, paths, save)).toMatchObject({ fileName: 'b.md' })
  })
})
