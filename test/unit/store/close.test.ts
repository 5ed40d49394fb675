import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { localFileSystem } from '../../../src/store/file-system.ts'
import { DEFAULT_LOCK_TIMES } from '../../../src/store/lock.ts'
import { writeQueueOf } from '../../../src/store/queue.ts'
import { parseSaveRequest } from '../../../src/store/save-request.ts'
import { inputFor, isIndexRename, linesFor } from '../../support/store-calls.ts'
import {
  anotherStore,
  holdLock,
  linesOf,
  litterOf,
  snapshotOf,
  watchedMemory,
} from '../../support/test-memory.ts'

test('close refuses what waits and waits for what is in flight', async () => {
  const { memory, watched } = await watchedMemory()
  const waiting: Promise<unknown>[] = []
  const closing: Promise<void>[] = []
  watched.before = (call) => {
    if (!isIndexRename(call) || closing.length > 0) return
    waiting.push(memory.store.save(inputFor('k1')), memory.store.save(inputFor('k2')))
    for (const save of waiting) save.catch(() => {})
    closing.push(memory.store.close())
  }
  const inFlight = memory.store.save(inputFor('k0'))
  await vi.waitFor(() => expect(closing).toHaveLength(1))
  await closing[0]
  expect(await linesOf(memory)).toEqual(linesFor(['k0']))
  expect(await litterOf(memory)).toEqual([])
  await inFlight
  for (const save of waiting) await expect(save).rejects.toMatchObject({ code: 'CLOSED' })
  watched.before = () => {}
  await memory.store.save(inputFor('k3'))
  expect(await linesOf(memory)).toEqual(linesFor(['k0', 'k3']))
})

test('close in the turn of the call refuses a save that has not begun', async () => {
  const { memory } = await watchedMemory()
  const saving = memory.store.save(inputFor('k0'))
  const closing = memory.store.close()
  await expect(saving).rejects.toMatchObject({ code: 'CLOSED' })
  await closing
  expect(await snapshotOf(memory)).toEqual({})
  await memory.store.close()
})

test('close waits for the saves that its transaction put off', async () => {
  const { memory, watched } = await watchedMemory()
  const closed = new Promise<void>((resolve) => {
    watched.before = (call) => {
      if (isIndexRename(call)) resolve(memory.store.close())
    }
  })
  const saves = ['one', 'two'].map((content) => memory.store.save(inputFor('k0', { content })))
  await closed
  expect(readFileSync(join(memory.paths.root, 'k0.md'), 'utf8')).toContain('two')
  expect(existsSync(memory.lockPath)).toBe(false)
  await Promise.all(saves)
})

test('close of one store leaves what another store on the same memory has waiting', async () => {
  const { memory, watched } = await watchedMemory()
  const other = anotherStore(memory, { fileSystem: watched.fileSystem })
  const [mine, theirs] = [memory.store.save(inputFor('k0')), other.save(inputFor('k1'))]
  mine.catch(() => {})
  await memory.store.close()
  await expect(mine).rejects.toMatchObject({ code: 'CLOSED' })
  await theirs
  expect(await linesOf(memory)).toEqual(linesFor(['k1']))
})

test('close reaches the saves of its store also when other options opened another queue', async () => {
  const { memory, watched } = await watchedMemory()
  const release = await holdLock(memory)
  const inFlight = memory.store.save(inputFor('k0'))
  await vi.waitFor(() => expect(watched.calls.some(({ name }) => name === 'mkdir')).toBe(true))
  const other = anotherStore(memory).save(inputFor('k1'))
  const waiting = memory.store.save(inputFor('k2'))
  waiting.catch(() => {})
  const closing = memory.store.close()
  await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' })
  await release()
  await closing
  await Promise.all([inFlight, other])
  expect((await linesOf(memory)).sort()).toEqual(linesFor(['k0', 'k1']))
})

test('a change that throws at once does not stop the queue', async () => {
  const { memory } = await watchedMemory()
  const context = {
    paths: memory.paths,
    lockPath: memory.lockPath,
    fileSystem: localFileSystem,
    lockTimes: DEFAULT_LOCK_TIMES,
  }
  const failing = writeQueueOf(context).change(() => {
    throw new TypeError('a mistake')
  }, {})
  const saving = writeQueueOf(context).save(parseSaveRequest(inputFor('k0')), {})
  await expect(failing).rejects.toBeInstanceOf(TypeError)
  await saving
  expect(await linesOf(memory)).toEqual(linesFor(['k0']))
})

test('a mistake of ours in a transaction reaches its callers, and the next save works', async () => {
  const { memory } = await watchedMemory()
  const { signal } = new AbortController()
  let isFirst = true
  signal.removeEventListener = () => {
    if (isFirst) {
      isFirst = false
      throw new TypeError('a mistake')
    }
  }
  await expect(memory.store.save(inputFor('k0', { signal }))).rejects.toBeInstanceOf(TypeError)
  await memory.store.save(inputFor('k1'))
  expect(await litterOf(memory)).toEqual([])
})
