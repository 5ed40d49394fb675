import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileSystemCall } from '../../support/faulty-file-system.mjs'
import { isFileRename, isIndexRename, isDirectoryFlush, once } from '../../support/store-calls.ts'
import {
  anotherStore,
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  takeLockAway,
  watchedMemory,
} from '../../support/test-memory.ts'

/** Nobody is stale by itself here; locks are taken away by hand. */
const TIMES = { heartbeatMs: 60_000, staleMs: 60_000, waitMs: 200 }

/** The look at the lock that follows the flush of a memory file. */
function isCheckAfterStaging(fileName: string): (call: FileSystemCall) => boolean {
  let isStaged = false
  return ({ name, path }) => {
    if (name === 'handle.sync' && path.includes(`.${fileName}.tmp-`)) isStaged = true
    return isStaged && name === 'lstat' && path.endsWith('memory.lock')
  }
}

test('a lock lost before the files are visible: both savers are kept', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  watched.before = once(isCheckAfterStaging('mine.md'), async () => {
    await takeLockAway(memory)
    await other.save({ key: 'theirs', content: 'c', description: 'd' })
  })
  const saved = await memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  expect(saved.replaced).toBe(false)
  expect(await linesOf(memory)).toEqual(['- [theirs](theirs.md) — d', '- [mine](mine.md) — d'])
  expect(await memoryFilesOf(memory)).toEqual(['mine.md', 'theirs.md'])
  expect(await litterOf(memory)).toEqual([])
})

test('a lock lost before the index is published: the file is written once, the line is added to the new index', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    await other.save({ key: 'theirs', content: 'c', description: 'd' })
  })
  const saved = await memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  expect(saved.replaced).toBe(false)
  expect(watched.calls.filter(isFileRename)).toHaveLength(1)
  expect(await linesOf(memory)).toEqual(['- [theirs](theirs.md) — d', '- [mine](mine.md) — d'])
  expect(await litterOf(memory)).toEqual([])
})

test('a lock lost while the other saves the same key: the later file wins, with its own line', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    await other.save({ key: 'rule', content: 'theirs', description: 'their hook' })
  })
  const saved = await memory.store.save({ key: 'rule', content: 'mine', description: 'my hook' })
  expect(saved.replaced).toBe(true)
  expect(await fileOf(memory, 'rule.md')).toContain('mine')
  expect(await linesOf(memory)).toEqual(['- [rule](rule.md) — my hook'])
})

test('the same bytes saved by another before ours became visible count as replaced', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  const input = { key: 'rule', content: 'same', description: 'd' }
  watched.before = once(isCheckAfterStaging('rule.md'), async () => {
    await takeLockAway(memory)
    await other.save(input)
  })
  expect(await memory.store.save(input)).toMatchObject({ replaced: true })
  expect(await linesOf(memory)).toEqual(['- [rule](rule.md) — d'])
})

test('a file that another removed after we made it visible is written again', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    await rm(join(memory.paths.root, 'mine.md'))
  })
  expect(await memory.store.save({ key: 'mine', content: 'c', description: 'd' })).toMatchObject({
    replaced: false,
  })
  expect(await fileOf(memory, 'mine.md')).toContain('c')
  expect(await linesOf(memory)).toEqual(['- [mine](mine.md) — d'])
})

test('when the second try goes to another file, the file of the first is taken back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  let theirs = ''
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    theirs = (await other.save({ key: '部署-规则', content: 'theirs', description: 'd' })).fileName
  })
  const saved = await memory.store.save({ key: '部署 规则', content: 'mine', description: 'd' })
  expect(saved).toMatchObject({ fileName: theirs, replaced: true })
  expect(await memoryFilesOf(memory)).toEqual([theirs])
  expect(await linesOf(memory)).toEqual([`- [部署 规则](${theirs}) — d`])
  expect(await fileOf(memory, theirs)).toContain('mine')
})

test('a lock lost between the last check and the rename of the index: no line is lost', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  await memory.store.save({ key: 'old', content: 'c', description: 'd' })
  const other = anotherStore(memory)
  watched.before = once(isIndexRename, async () => {
    await takeLockAway(memory)
    await Promise.all(['b', 'a'].map((key) => other.save({ key, content: 'c', description: 'd' })))
    await other.save({ key: 'old', content: 'newer', description: 'newer' })
  })
  await memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  expect(await linesOf(memory)).toEqual([
    '- [old](old.md) — newer',
    '- [mine](mine.md) — d',
    '- [a](a.md) — d',
    '- [b](b.md) — d',
  ])
  expect(await litterOf(memory)).toEqual([])
})

test('a line overwritten in that moment is made to fit the file of the later writer', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const other = anotherStore(memory)
  watched.before = once(isIndexRename, async () => {
    await takeLockAway(memory)
    await other.save({ key: 'rule', content: 'theirs', description: 'their hook' })
  })
  await memory.store.save({ key: 'rule', content: 'mine', description: 'my hook' })
  expect(await fileOf(memory, 'rule.md')).toContain('theirs')
  expect(await linesOf(memory)).toEqual(['- [rule](rule.md) — their hook'])
})

test('mending an index adds no line for old files, strangers and what cannot be read', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const header = '---\nname: x\ndescription: d\nmetadata:\n  type: user\n  title: X\n---\n'
  await givenFiles(memory, {
    'old.md': header,
    'stranger.md': 'no header',
    'MEMORY.md': '# Notes\n',
  })
  await utimes(join(memory.paths.root, 'old.md'), 1_000_000, 1_000_000)
  await mkdir(join(memory.paths.root, 'folder.md'))
  watched.before = once(isIndexRename, () => takeLockAway(memory))
  await memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  expect(await linesOf(memory)).toEqual(['# Notes', '- [mine](mine.md) — d'])
})

test('a memory forgotten by another in that moment does not come back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  watched.before = once(isIndexRename, async () => {
    await takeLockAway(memory)
    await rm(join(memory.paths.root, 'mine.md'))
    await writeFile(memory.paths.indexFilePath, '# Notes\n')
  })
  await memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  expect(await memoryFilesOf(memory)).toEqual([])
})
