/**
 * Taking the plugin away: from a running host, during a save, and with the whole process.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hostSupport } from '../support/host/index.mjs'
import {
  MemoryHost,
  memoryPaths,
  ROW,
  SAVE,
  saveStep,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

/** After a signal the host waits so long for its plugins, in ms. */
const HOST_GRACE_MS = 5_000

/** Makes a lock that is never renewed, as another process would hold it; a fresh one counts for 10 s. */
async function holdLock(root: string): Promise<() => Promise<void>> {
  const lock = `${root}.lock`
  await mkdir(dirname(root), { recursive: true })
  await mkdir(lock)
  return () => rmdir(lock)
}

/** Resolves when a first save in a project has begun and waits for the lock. */
function saveHasBegun(root: string): Promise<boolean> {
  return vi.waitUntil(() => existsSync(root), { timeout: 30_000, interval: 5 })
}

describe.skipIf(!hostSupport().supported)('unloading the row', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  test('leaves no tool, section, context or variable, and loading it again brings each back once', async () => {
    await memory.save(await memory.session('reload'), { key: 'Kept', content: 'x' })
    const session = await memory.session('reload')
    await memory.turn(session)
    const before = await memory.host.inspect(session)
    const shown = memory.lastRequest(session)
    expect(JSON.stringify(before)).toContain('project_memory')

    await memory.host.setRow(ROW, { disabled: true })
    const without = await memory.host.inspect(session)
    const isOurs = (name: string): boolean => /project.memory/.test(name)
    const names = (inspection: typeof without): string[] => [
      ...inspection.tools,
      ...inspection.sections.map(({ name }) => name),
      ...inspection.contexts.map(({ name }) => name),
      ...Object.keys(inspection.variables),
      ...inspection.commands,
    ]
    expect(names(without).filter(isOurs)).toEqual([])
    expect(names(without)).toEqual(
      names(before).filter((name) => !isOurs(name) && name !== 'memory'),
    )
    const { toolCalls, reason } = await memory.turn(session, saveStep({ key: 'k', content: 'x' }))
    expect(reason).toEqual({ kind: 'completed' })
    expect(toolCalls[0]?.result).toContain('unknown tool')
    expect(memory.lastRequest(session).toolNames).not.toContain(SAVE)
    expect(shownGuidance(memory.lastRequest(session))).toBe('')
    expect(shownIndex(memory.lastRequest(session))).toBe('')

    await memory.host.setRow(ROW, { disabled: false })
    const again = await memory.host.inspect(session)
    expect(names(again).toSorted()).toEqual(names(before).toSorted())
    expect(again.sections).toEqual(before.sections)
    expect(again.contexts).toEqual(before.contexts)
    const saved = await memory.save(session, { key: 'After', content: 'x' })
    expect(saved.value).toMatchObject({ saved: true, indexEntries: 2 })
    expect(memory.lastRequest(session).system).toBe(shown.system)
    expect(JSON.stringify(memory.lastRequest(session).body.tools)).toBe(
      JSON.stringify(shown.body.tools),
    )
    expect(shownIndex(memory.lastRequest(session))).toBe(shownIndex(shown))
  })

  test('a project without memory looks to the model as without the plugin, but for the guidance', async () => {
    const withPlugin = await memory.freshRequest('bare')
    await memory.host.setRow(ROW, { disabled: true })
    const without = await memory.freshRequest('bare')
    await memory.host.setRow(ROW, { disabled: false })
    expect(withPlugin.snapshots).toEqual(without.snapshots)
    expect(withPlugin.system).toBe(`${without.system}\n\n${shownGuidance(withPlugin)}`)
    const others = withPlugin.toolNames.filter((name) => !name.includes('project_memory'))
    expect(others).toEqual(without.toolNames)
  })

  test('waits for a save in flight, which then is whole', async () => {
    const { root, indexFilePath } = memoryPaths(memory.home, await memory.home.project('in flight'))
    const release = await holdLock(root)
    const session = await memory.session('in flight')
    const turn = memory.turn(session, saveStep({ key: 'In flight', content: 'Landed.' }))
    await saveHasBegun(root)

    let isUnloaded = false
    const unloaded = memory.host.setRow(ROW, { disabled: true }).then(() => {
      isUnloaded = true
      return existsSync(indexFilePath)
    })
    await vi.waitUntil(async () => !(await memory.host.inspect(session)).tools.includes(SAVE))
    expect(isUnloaded).toBe(false)
    expect(existsSync(indexFilePath)).toBe(false)
    await release()
    expect(await unloaded).toBe(true)
    await memory.host.setRow(ROW, { disabled: false })

    expect((await turn).toolCalls).toMatchObject([{ isError: false }])
    expect(await readFile(indexFilePath, 'utf8')).toContain('- [In flight](in-flight.md)')
    expect((await readdir(root)).toSorted()).toEqual(['MEMORY.md', 'in-flight.md'])
  })
})

describe.skipIf(!hostSupport().supported)('ending the process', () => {
  test('a signal during a save ends the host as without the plugin and leaves no half a memory', async () => {
    const ends: { code: number | null; signal: string | null; isForced: boolean }[] = []
    const memory = await MemoryHost.start()
    try {
      const { root } = memoryPaths(memory.home, await memory.home.project('killed'))
      const release = await holdLock(root)
      const session = await memory.session('killed')
      await memory.begin(session, saveStep({ key: 'Never', content: 'x' }))
      await saveHasBegun(root)
      ends.push(await endBySignal(memory))
      expect(await readdir(root)).toEqual([])
      expect(await readdir(dirname(root))).toEqual(['memory', 'memory.lock'])
      await release()

      const next = await MemoryHost.start({ home: memory.home })
      const { value } = await next.save(await next.session('killed'), { key: 'Next', content: 'x' })
      expect(value).toMatchObject({ saved: true, indexEntries: 1 })
      await next.host.setRow(ROW, { disabled: true })
      const idle = await next.session('killed')
      await next.begin(idle, { hang: true })
      await next.model.waitFor(({ sessionId }) => sessionId === idle)
      ends.push(await endBySignal(next))
      expect((await readdir(root)).toSorted()).toEqual(['MEMORY.md', 'next.md'])
      expect(existsSync(join(dirname(root), 'memory.lock'))).toBe(false)
      await next.abandon()
    } finally {
      await memory.abandon()
    }
    expect(ends).toEqual([
      { code: 0, signal: null, isForced: false },
      { code: 0, signal: null, isForced: false },
    ])
  })
})

/** Ends a host as a supervisor does. */
async function endBySignal(
  memory: MemoryHost,
): Promise<{ code: number | null; signal: string | null; isForced: boolean }> {
  const startMs = performance.now()
  const { code, signal } = await memory.host.kill()
  return { code, signal, isForced: performance.now() - startMs > HOST_GRACE_MS }
}
