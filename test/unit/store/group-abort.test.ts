import { expect, test, vi } from 'vitest'
import type { FileSystemCall } from '../../support/faulty-file-system.mjs'
import { inputFor, isIndexRename, keysOf, linesFor } from '../../support/store-calls.ts'
import {
  holdLock,
  indexOf,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  watchedMemory,
} from '../../support/test-memory.ts'

test('a save that was aborted before its turn is not made', async () => {
  const { memory } = await watchedMemory()
  const controller = new AbortController()
  const saves = [
    memory.store.save(inputFor('k0')),
    memory.store.save(inputFor('k1', { signal: controller.signal })),
    memory.store.save(inputFor('k2')),
  ]
  controller.abort('changed my mind')
  const outcomes = await Promise.allSettled(saves)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: { name: 'AbortError' } })
  expect(await linesOf(memory)).toEqual(linesFor(['k0', 'k2']))
})

const MOMENTS: [string, (call: FileSystemCall) => boolean][] = [
  ['while its file is made', ({ name, path }) => name === 'open' && path.includes('.k1.md.')],
  [
    'while its file is flushed',
    ({ name, path }) => name === 'handle.sync' && path.includes('.k1.md.'),
  ],
  [
    'when all files are staged',
    ({ name, path }) => name === 'lstat' && path.endsWith('memory.lock'),
  ],
  [
    'while the files are published',
    ({ name, to }) => name === 'rename' && to?.endsWith('/k1.md') === true,
  ],
  [
    'while the directory is flushed',
    ({ name, path }) => name === 'handle.sync' && path.endsWith('/memory'),
  ],
]

for (const [moment, isMoment] of MOMENTS) {
  test(`a save that is aborted ${moment} drops out alone and leaves nothing`, async () => {
    const { memory, watched } = await watchedMemory()
    await memory.store.save(inputFor('k9'))
    const controller = new AbortController()
    watched.calls.length = 0
    let isArmed = false
    watched.before = (call) => {
      if (call.name === 'open' && call.path.includes('.tmp-')) isArmed = true
      if (isArmed && isMoment(call)) controller.abort()
    }
    const outcomes = await Promise.allSettled([
      memory.store.save(inputFor('k0')),
      memory.store.save(inputFor('k1', { signal: controller.signal })),
      memory.store.save(inputFor('k2')),
    ])
    expect(controller.signal.aborted).toBe(true)
    expect(outcomes[1]).toMatchObject({ reason: { name: 'AbortError' } })
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await linesOf(memory)).toEqual(linesFor(['k9', 'k0', 'k2']))
    expect(await memoryFilesOf(memory)).toEqual(['k0.md', 'k2.md', 'k9.md'])
    expect(await litterOf(memory)).toEqual([])
  })
}

test('an abort after the index is published is too late: the save is told as what it is', async () => {
  const { memory, watched } = await watchedMemory()
  const controller = new AbortController()
  let isVisible = false
  watched.before = (call) => {
    if (isVisible) controller.abort()
    isVisible ||= isIndexRename(call)
  }
  await memory.store.save(inputFor('k0', { signal: controller.signal }))
  expect(controller.signal.aborted).toBe(true)
  expect(await linesOf(memory)).toEqual(linesFor(['k0']))
})

test('a save that is aborted while the lock is awaited rejects at once, the others go on waiting', async () => {
  const { memory, watched } = await watchedMemory()
  const release = await holdLock(memory)
  const controller = new AbortController()
  const others = [memory.store.save(inputFor('k0')), memory.store.save(inputFor('k2'))]
  const given = memory.store.save(inputFor('k1', { signal: controller.signal }))
  await vi.waitFor(() => expect(watched.calls.some(({ name }) => name === 'mkdir')).toBe(true))
  controller.abort()
  await expect(given).rejects.toMatchObject({ name: 'AbortError' })
  expect(await indexOf(memory)).toBe('')
  await release()
  await Promise.all(others)
  expect(await linesOf(memory)).toEqual(linesFor(['k0', 'k2']))
})

test('when all are aborted the wait for the lock ends, and the lock of the other stays', async () => {
  const { memory, watched } = await watchedMemory()
  const release = await holdLock(memory)
  const controller = new AbortController()
  const { signal } = controller
  const saves = keysOf(3).map((key) => memory.store.save(inputFor(key, { signal })))
  await vi.waitFor(() => expect(watched.calls.some(({ name }) => name === 'mkdir')).toBe(true))
  controller.abort()
  for (const save of saves) await expect(save).rejects.toMatchObject({ name: 'AbortError' })
  await memory.store.close()
  const { length } = watched.calls
  await release()
  expect(watched.calls.length).toBe(length)
  expect(await snapshotOf(memory)).toEqual({})
})

test('a save that waits behind a transaction rejects at once when it is aborted', async () => {
  const { memory, watched } = await watchedMemory()
  const release = await holdLock(memory)
  const first = memory.store.save(inputFor('k0'))
  await vi.waitFor(() => expect(watched.calls.some(({ name }) => name === 'mkdir')).toBe(true))
  const controller = new AbortController()
  const second = memory.store.save(inputFor('k1', { signal: controller.signal }))
  const third = memory.store.save(inputFor('k2'))
  controller.abort()
  await expect(second).rejects.toMatchObject({ name: 'AbortError' })
  await release()
  await Promise.all([first, third])
  expect(await linesOf(memory)).toEqual(linesFor(['k0', 'k2']))
})

test('a signal that outlives many saves keeps no listener of theirs', async () => {
  const { memory } = await watchedMemory()
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  await Promise.all(keysOf(5).map((key) => memory.store.save(inputFor(key, { signal }))))
  expect(listeners).toBe(0)
})
