import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import type { FileSystemCall, WatchedFileSystem } from '../../support/faulty-file-system.mjs'
import { inputFor, isIndexRename, keysOf, linesFor } from '../../support/store-calls.ts'
import {
  anotherStore,
  fileOf,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

function indexWrites({ calls }: WatchedFileSystem): number {
  return calls.filter(isIndexRename).length
}

test('100 saves at once are one write of the index, their lines in call order', async () => {
  const { memory, watched } = await watchedMemory()
  const keys = keysOf(100)
  const saved = await Promise.all(keys.map((key) => memory.store.save(inputFor(key))))
  expect(indexWrites(watched)).toBe(1)
  expect(await linesOf(memory)).toEqual(linesFor(keys))
  expect(await memoryFilesOf(memory)).toHaveLength(100)
  expect(saved.every(({ replaced }) => !replaced)).toBe(true)
  expect(await litterOf(memory)).toEqual([])
})

test('saves of several stores on one memory share a transaction', async () => {
  const { memory, watched } = await watchedMemory()
  const other = anotherStore(memory, { fileSystem: watched.fileSystem })
  await Promise.all(
    keysOf(10).map((key, at) => (at % 2 === 0 ? memory.store : other).save(inputFor(key))),
  )
  expect(indexWrites(watched)).toBe(1)
  expect(await linesOf(memory)).toEqual(linesFor(keysOf(10)))
})

test('saves that come while a transaction runs share the next one', async () => {
  const { memory, watched } = await watchedMemory()
  const later: Promise<unknown>[] = []
  watched.before = (call) => {
    if (!isIndexRename(call) || later.length > 0) return
    later.push(...['k1', 'k2', 'k3'].map((key) => memory.store.save(inputFor(key))))
  }
  await memory.store.save(inputFor('k0'))
  await Promise.all(later)
  expect(indexWrites(watched)).toBe(2)
  expect(await linesOf(memory)).toEqual(linesFor(keysOf(4)))
})

test('more saves than one transaction takes are split and all kept', async () => {
  const { memory, watched } = await watchedMemory()
  const keys = keysOf(300)
  await Promise.all(keys.map((key) => memory.store.save(inputFor(key))))
  expect(indexWrites(watched)).toBe(2)
  expect(await linesOf(memory)).toEqual(linesFor(keys))
})

test('at most 16 memory files are open at once', async () => {
  const { memory, watched } = await watchedMemory()
  let open = 0
  let most = 0
  watched.before = ({ name, path }) => {
    if (!path.includes('.md.tmp-') || path.includes('.MEMORY.')) return
    if (name === 'open') most = Math.max(most, (open += 1))
    if (name === 'handle.close') open -= 1
  }
  await Promise.all(keysOf(60).map((key) => memory.store.save(inputFor(key))))
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(16)
})

test('the promise resolves only after the directory of the index was flushed', async () => {
  const { memory, watched } = await watchedMemory()
  let isIndexVisible = false
  let isFlushed = false
  let isResolved = false
  watched.before = (call) => {
    if (isResolved) throw new Error('resolved too early')
    if (isIndexVisible && call.name === 'handle.close' && call.path === memory.paths.root)
      isFlushed = true
    if (isIndexRename(call)) isIndexVisible = true
  }
  await Promise.all(
    keysOf(3).map((key) => memory.store.save(inputFor(key)).then(() => (isResolved = true))),
  )
  expect(isFlushed).toBe(true)
})

test('a save whose file cannot be written drops out alone, the others are kept', async () => {
  const isBad = ({ name, path }: FileSystemCall): boolean =>
    name === 'handle.writev' && path.includes('.k7.md.')
  const watched = watchFileSystem(failMatching(isBad, 'ENOSPC'))
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  const keys = keysOf(20)
  const outcomes = await Promise.allSettled(keys.map((key) => memory.store.save(inputFor(key))))
  expect(outcomes.map(({ status }) => status === 'rejected')).toEqual(
    keys.map((key) => key === 'k7'),
  )
  expect(outcomes[7]).toMatchObject({ reason: { code: 'WRITE_FAILED', errno: 'ENOSPC' } })
  expect(await linesOf(memory)).toEqual(linesFor(keys.filter((key) => key !== 'k7')))
  expect(await memoryFilesOf(memory)).toHaveLength(19)
  expect(indexWrites(watched)).toBe(1)
  expect(await litterOf(memory)).toEqual([])
})

test('a save that cannot be published drops out alone, and a replaced file is back', async () => {
  const { memory, watched } = await watchedMemory()
  await memory.store.save(inputFor('k1', { content: 'old' }))
  const isBad = ({ name, to }: FileSystemCall): boolean =>
    name === 'rename' && to?.endsWith('/k1.md') === true
  watched.before = failMatching(isBad, 'EIO')
  const outcomes = await Promise.allSettled(
    keysOf(3).map((key) => memory.store.save(inputFor(key))),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await fileOf(memory, 'k1.md')).toContain('old')
  expect(await linesOf(memory)).toEqual(linesFor(['k1', 'k0', 'k2']))
  expect(await litterOf(memory)).toEqual([])
})

test('when the index cannot be published every save of the group fails and every file is as before', async () => {
  const { memory, watched } = await watchedMemory()
  await memory.store.save(inputFor('k1', { content: 'old' }))
  const before = await snapshotOf(memory)
  watched.before = failMatching(isIndexRename, 'ENOSPC')
  const outcomes = await Promise.allSettled(
    keysOf(5).map((key) => memory.store.save(inputFor(key))),
  )
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { errno: 'ENOSPC' } })
  expect(await snapshotOf(memory)).toEqual(before)
  expect(await litterOf(memory)).toEqual([])
})

test('the same key twice in a group is two transactions: the last wins and says that it replaced', async () => {
  const { memory, watched } = await watchedMemory()
  const saved = await Promise.all([
    memory.store.save(inputFor('k0', { content: 'one' })),
    memory.store.save(inputFor('k1')),
    memory.store.save(inputFor('K0', { content: 'two' })),
    memory.store.save(inputFor('k2')),
    memory.store.save(inputFor('k0.md', { content: 'three' })),
  ])
  expect(saved.map(({ replaced }) => replaced)).toEqual([false, false, true, false, true])
  expect(await fileOf(memory, 'k0.md')).toContain('three')
  expect(await linesOf(memory)).toEqual(['- [k0.md](k0.md) — k0.md', ...linesFor(['k1', 'k2'])])
  expect(indexWrites(watched)).toBe(3)
  expect(await memoryFilesOf(memory)).toEqual(['k0.md', 'k1.md', 'k2.md'])
})

test('a repeated key whose first save fails is a new memory', async () => {
  const isFirst = ({ name, path }: FileSystemCall): boolean =>
    name === 'handle.writev' && path.includes('.k0.md.')
  const watched = watchFileSystem(failMatching(isFirst, 'EIO', 1))
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  const [first, second] = await Promise.allSettled([
    memory.store.save(inputFor('k0', { content: 'one' })),
    memory.store.save(inputFor('k0', { content: 'two' })),
  ])
  expect(first).toMatchObject({ status: 'rejected' })
  expect(second).toMatchObject({ status: 'fulfilled', value: { replaced: false } })
  expect(await fileOf(memory, 'k0.md')).toContain('two')
})

test('saves that were put off keep their place before later ones', async () => {
  const { memory } = await watchedMemory()
  const order: string[] = []
  const save = async (key: string, content: string): Promise<void> => {
    await memory.store.save(inputFor(key, { content }))
    order.push(content)
  }
  const first = [save('k0', 'a'), save('k0', 'b'), save('k0', 'c')]
  await first[0]
  await Promise.all([...first, save('k0', 'd')])
  expect(order).toEqual(['a', 'b', 'c', 'd'])
  expect(await fileOf(memory, 'k0.md')).toMatch(/\n\nd\n$/u)
})

test('a memory whose directory is removed between saves is made again', async () => {
  const { memory } = await watchedMemory()
  await memory.store.save(inputFor('k0'))
  await rm(dirname(dirname(memory.paths.root)), { recursive: true })
  expect(await memory.store.save(inputFor('k1'))).toMatchObject({
    filePath: join(memory.paths.root, 'k1.md'),
  })
  expect(await linesOf(memory)).toEqual(linesFor(['k1']))
})
