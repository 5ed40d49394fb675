/**
 * When a session is shown which index: once, and what makes it look again.
 */
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callTool, hostSupport } from '../support/host/index.mjs'
import {
  indexIn,
  MemoryHost,
  memoryPaths,
  ROW,
  saveStep,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

/** Larger than what the host's pruner leaves alone. */
const LARGE_OUTPUT = 'for i in $(seq 1 4000); do echo line $i of many; done'

describe.skipIf(!hostSupport().supported)('the index within a session', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  const titles = (index: string): string[] =>
    [...index.matchAll(/^- \[([^\]]+)\]/gm)].map(([, title]) => title ?? '')

  /** A session that was shown the memory `first`, in a project that also has `second` by now. */
  async function outdatedSession(project: string): Promise<string> {
    await memory.save(await memory.session(project), { key: 'first', content: 'x' })
    const session = await memory.session(project)
    await memory.save(session, { key: 'second', content: 'x' })
    return session
  }

  test('three saves add no snapshot, and each tool result tells how the index stands', async () => {
    await memory.save(await memory.session('three'), { key: 'zeroth', content: 'x' })
    const session = await memory.session('three')
    const turn = await memory.turn(
      session,
      ...['one', 'two', 'three'].map((key) => saveStep({ key, content: `About ${key}.` })),
    )
    expect(turn.toolCalls.map(({ result }) => JSON.parse(result))).toMatchObject([
      { saved: true, shownInIndex: true, indexEntries: 2, indexLineLimit: 200 },
      { saved: true, shownInIndex: true, indexEntries: 3 },
      { saved: true, shownInIndex: true, indexEntries: 4 },
    ])
    const requests = memory.model.of(session)
    expect(requests).toHaveLength(4)
    for (const request of requests) {
      expect(request.snapshots).toEqual(requests[0]?.snapshots)
      expect(request.snapshots).toHaveLength(1)
    }
    expect(titles(shownIndex(requests[3]))).toEqual(['zeroth'])
    const fresh = await memory.freshRequest('three')
    expect(titles(shownIndex(fresh))).toEqual(['zeroth', 'one', 'two', 'three'])
  })

  test('saves in a project without memory leave the session without an index', async () => {
    const session = await memory.session('empty')
    await memory.save(session, { key: 'one', content: 'x' })
    await memory.turn(session)
    for (const request of memory.model.of(session)) {
      expect(request.snapshots).toHaveLength(1)
      expect(shownIndex(request)).toBe('')
    }
  })

  test('guidance and index keep their bytes over steps, saves, touched and rewritten files', async () => {
    const session = await outdatedSession('bytes')
    const { root, indexFilePath } = memoryPaths(memory.home, await memory.home.project('bytes'))
    const date = new Date('2031-05-04T03:02:01Z')
    for (const name of await readdir(root)) await utimes(join(root, name), date, date)
    await memory.turn(session)
    await writeFile(indexFilePath, '- [Edited](first.md) — by hand\n')
    await memory.turn(session)

    const requests = memory.model.of(session)
    expect(requests).toHaveLength(4)
    for (const request of requests) {
      expect(request.system).toBe(requests[0]?.system)
      expect(JSON.stringify(request.body.tools)).toBe(JSON.stringify(requests[0]?.body.tools))
      expect(request.snapshots).toEqual([requests[0]?.snapshots[0]])
    }
    const fresh = await memory.freshRequest('bytes')
    expect(titles(shownIndex(fresh))).toEqual(['Edited'])
    expect(shownGuidance(fresh)).toBe(shownGuidance(requests[0]))
  })

  test('a resumed session reads again, and adds a snapshot only when something changed', async () => {
    const session = await outdatedSession('resumed')
    await memory.host.end(session)
    await memory.host.resume(session)
    await memory.turn(session)
    const snapshots = memory.lastRequest(session).snapshots.map(indexIn)
    expect(snapshots.map(titles)).toEqual([['first'], ['first', 'second']])

    await memory.host.end(session)
    await memory.host.resume(session)
    await memory.turn(session)
    expect(memory.lastRequest(session).snapshots).toHaveLength(2)
  })

  test('a compacted session reads again', async () => {
    const session = await outdatedSession('compacted')
    expect(await memory.host.compact(session)).toBe(true)
    await memory.turn(session)
    const { snapshots } = memory.lastRequest(session)
    expect(snapshots.map((text) => titles(indexIn(text)))).toEqual([['first', 'second']])
  })

  test('pruning tool results does not make it read again', async () => {
    const session = await outdatedSession('pruned')
    await memory.turn(session, callTool('bash', { command: LARGE_OUTPUT, description: 'print' }))
    const before = memory.lastRequest(session)
    const pruned = await memory.host.evaluate(
      (ctx, _argument, agent) =>
        ctx.get('toolResultPruner').pruneSession(agent.session).pruned.length as number,
      undefined,
      session,
    )
    expect(pruned).toBe(1)
    await memory.turn(session)
    const after = memory.lastRequest(session)
    expect(after.toolResults.at(-1)?.text.length).toBeLessThan(
      before.toolResults.at(-1)?.text.length ?? 0,
    )
    expect(after.snapshots).toEqual(before.snapshots)
    expect(titles(shownIndex(after))).toEqual(['first'])
  })

  test("a user's fork is a main session: it reads the index itself and may save", async () => {
    const session = await outdatedSession('forked')
    const fork = await memory.host.fork(session)
    expect(await memory.host.header(fork)).toMatchObject({ parentSession: session })
    const saved = await memory.save(fork, { key: 'third', content: 'x' })
    expect(saved.value).toMatchObject({ saved: true, indexEntries: 3 })
    const [first] = memory.model.of(fork)
    expect(first?.snapshots.map(indexIn).map(titles)).toEqual([['first'], ['first', 'second']])
    expect(first?.system).toBe(memory.lastRequest(session).system)
  })

  // Last of this file: it restarts the plugin.
  test('with indexRefresh: change a save appends the new index once', async () => {
    await memory.save(await memory.session('change'), { key: 'first', content: 'x' })
    await memory.host.setRow(ROW, { config: { indexRefresh: 'change' } })
    const session = await memory.session('change')
    await memory.turn(session, saveStep({ key: 'second', content: 'x' }))
    await memory.turn(session)
    const requests = memory.model.of(session)
    const shown = requests.map(({ snapshots }) => snapshots.map(indexIn).map(titles))
    expect(shown).toEqual([
      [['first']],
      [['first'], ['first', 'second']],
      [['first'], ['first', 'second']],
    ])
    for (const { system } of requests) expect(system).toBe(requests[0]?.system)
  })
})
