import { existsSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { runForget } from '../../../src/tools/forget-run.ts'
import { runSave } from '../../../src/tools/save-run.ts'
import { CLOSE_TIMEOUT_MS, MemoryStores } from '../../../src/tools/stores.ts'
import { holdLock, linesOf, snapshotOf } from '../../support/test-memory.ts'
import { toolWorld } from '../../support/tool-world.ts'

test('a project has one store, another project another', async () => {
  const { memory } = await toolWorld()
  const stores = new MemoryStores()
  const store = stores.of(memory.paths)
  expect(stores.of({ ...memory.paths })).toBe(store)
  const other = resolveProjectMemoryPaths('/work/other', { DSH_HOME: memory.home })
  expect(stores.of(other)).not.toBe(store)
})

describe('closing', () => {
  test('waits for a save in flight and refuses what is queued behind it', async () => {
    const { exec, memory, options, stores } = await toolWorld()
    const release = await holdLock(memory)
    const save = (key: string): ReturnType<typeof runSave> =>
      runSave({ key, content: 'x' }, exec, options)
    const inFlight = save('first')
    // One turn of the event loop later the first transaction waits for the lock.
    await new Promise((resolve) => setImmediate(resolve))
    const queued = save('second')
    queued.catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))

    let isClosed = false
    const closing = stores.close().then(() => (isClosed = true))
    await expect(queued).rejects.toMatchObject({ code: 'CLOSED' })
    expect(isClosed).toBe(false)
    await release()
    await closing
    expect(await linesOf(memory)).toEqual(['- [first](first.md) — x'])
    await expect(inFlight).resolves.toMatchObject({ saved: true })
  })

  test('gives up waiting after the time that the host grants', async () => {
    const { exec, memory, options, stores, controller } = await toolWorld()
    await holdLock(memory)
    const saving = runSave({ key: 'k', content: 'x' }, exec, options)
    saving.catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let isClosed = false
      const closing = stores.close().then(() => (isClosed = true))
      await vi.advanceTimersByTimeAsync(CLOSE_TIMEOUT_MS - 1)
      expect(isClosed).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      await closing
    } finally {
      vi.useRealTimers()
    }
    controller.abort()
    await expect(saving).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('refuses every change that comes later, and touches nothing', async () => {
    const { exec, memory, options, stores } = await toolWorld()
    await stores.close()
    expect(() => stores.of(memory.paths)).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    const late = { key: 'k', content: 'x' }
    await expect(runSave(late, exec, options)).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(runForget({ key: 'k' }, exec, options)).rejects.toMatchObject({ code: 'CLOSED' })
    expect(existsSync(memory.paths.root)).toBe(false)
    await stores.close()
  })

  test('refuses a save that was on its way to the store', async () => {
    const { exec, memory, options, stores } = await toolWorld()
    const keepIndexObserved = async <T>(
      _agent: unknown,
      _project: unknown,
      change: () => Promise<T>,
    ): Promise<T> => {
      await stores.close()
      return change()
    }
    const saving = runSave({ key: 'k', content: 'x' }, exec, { ...options, keepIndexObserved })
    await expect(saving).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await snapshotOf(memory)).toEqual({})
  })
})
