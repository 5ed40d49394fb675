import { mkdir, utimes, writeFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { failMatching } from '../../support/faulty-file-system.mjs'
import { isFileRename, isIndexRename, isDirectoryFlush, once } from '../../support/store-calls.ts'
import {
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  takeLockAway,
  watchedMemory,
} from '../../support/test-memory.ts'

/** Nobody is stale by itself here; locks are taken away by hand. */
const TIMES = { heartbeatMs: 60_000, staleMs: 60_000, waitMs: 200 }

test('an index that cannot be looked over again is reported, and nothing is taken back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  watched.before = once(isIndexRename, async () => {
    await takeLockAway(memory)
    await mkdir(memory.lockPath)
  })
  const saving = memory.store.save({ key: 'mine', content: 'c', description: 'd' })
  await expect(saving).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
    message: expect.stringMatching(
      /^the memory was written, but that could not be confirmed: .*memory\.lock/u,
    ) as string,
  })
  expect(await memoryFilesOf(memory)).toEqual(['mine.md'])
  expect(await linesOf(memory)).toEqual(['- [mine](mine.md) — d'])
})

test('a lock that is lost at every try ends in LOCK_LOST, with nothing left behind', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  watched.before = async (call) => {
    if (isDirectoryFlush(call)) await takeLockAway(memory).catch(() => {})
  }
  await expect(memory.store.save({ key: 'mine', content: 'c' })).rejects.toMatchObject({
    code: 'LOCK_LOST',
    path: memory.lockPath,
    message: expect.stringMatching(/the memory files are as before$/u) as string,
  })
  expect(
    watched.calls.filter(({ name, path }) => name === 'mkdir' && path === memory.lockPath),
  ).toHaveLength(5)
  expect(await snapshotOf(memory)).toEqual({})
  expect(await litterOf(memory)).toEqual([])
})

test('a lock lost and not to be had again takes a visible file back and says why', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    await mkdir(memory.lockPath)
  })
  await expect(memory.store.save({ key: 'mine', content: 'c' })).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
  })
  expect(await snapshotOf(memory)).toEqual({})
})

test('an abort during the second wait for the lock takes a visible file back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const controller = new AbortController()
  watched.before = once(isDirectoryFlush, async () => {
    await takeLockAway(memory)
    await mkdir(memory.lockPath)
    watched.calls.length = 0
  })
  const saving = memory.store.save({ key: 'mine', content: 'c', signal: controller.signal })
  saving.catch(() => {})
  await vi.waitFor(() => expect(watched.calls.some(({ name }) => name === 'mkdir')).toBe(true))
  controller.abort()
  await expect(saving).rejects.toMatchObject({ name: 'AbortError' })
  expect(await snapshotOf(memory)).toEqual({})
})

test("going back leaves another writer's version alone, for a new file and for a replaced one", async () => {
  for (const isReplacement of [false, true]) {
    const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
    if (isReplacement) await memory.store.save({ key: 'rule', content: 'old' })
    watched.before = async (call) => {
      if (!isIndexRename(call)) return
      await writeFile(join(memory.paths.root, 'rule.md'), 'by an editor')
      failMatching(isIndexRename, 'ENOSPC')(call)
    }
    const saving = memory.store.save({ key: 'rule', content: 'mine', description: 'other' })
    await expect(saving).rejects.toMatchObject({ errno: 'ENOSPC' })
    expect(await fileOf(memory, 'rule.md')).toBe('by an editor')
    expect(await litterOf(memory)).toEqual([])
  }
})

test('a version that comes in while the old bytes are being put back is not overwritten', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  await memory.store.save({ key: 'rule', content: 'old' })
  let isGoingBack = false
  watched.before = async (call) => {
    if (isIndexRename(call)) {
      isGoingBack = true
      failMatching(isIndexRename, 'ENOSPC')(call)
    }
    if (!isGoingBack || call.name !== 'handle.sync' || !call.path.includes('.rule.md.tmp-')) return
    await writeFile(join(memory.paths.root, 'rule.md'), 'by an editor')
  }
  const saving = memory.store.save({ key: 'rule', content: 'mine', description: 'other' })
  await expect(saving).rejects.toMatchObject({
    errno: 'ENOSPC',
    message: expect.not.stringContaining('could not be put back') as string,
  })
  expect(await fileOf(memory, 'rule.md')).toBe('by an editor')
  expect(await litterOf(memory)).toEqual([])
})

test('a replaced file gets its time back together with its bytes', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  await memory.store.save({ key: 'rule', content: 'old' })
  const path = join(memory.paths.root, 'rule.md')
  await utimes(path, 1_700_000_000, 1_700_000_000)
  watched.before = failMatching(isIndexRename, 'EIO')
  const saving = memory.store.save({ key: 'rule', content: 'mine', description: 'other' })
  await expect(saving).rejects.toMatchObject({ errno: 'EIO' })
  expect((await stat(path)).mtimeMs).toBe(1_700_000_000_000)
})

test('an aborted save whose file cannot be taken back says so and stays an AbortError', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const controller = new AbortController()
  watched.before = (call) => {
    if (isFileRename(call)) controller.abort()
    failMatching(({ name, path }) => name === 'rename' && path.endsWith('/mine.md'), 'EPERM')(call)
  }
  const saving = memory.store.save({ key: 'mine', content: 'c', signal: controller.signal })
  await expect(saving).rejects.toMatchObject({
    name: 'AbortError',
    message: expect.stringMatching(
      /could not be put back: .*mine\.md cannot be written \(EPERM\)/u,
    ) as string,
  })
})

test('an index whose flush fails is told as written but not confirmed, and nothing is taken back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  let isVisible = false
  watched.before = (call) => {
    if (isVisible) {
      failMatching(
        ({ name, path }) => name === 'handle.sync' && path === memory.paths.root,
        'EIO',
      )(call)
    }
    isVisible ||= isIndexRename(call)
  }
  await expect(
    memory.store.save({ key: 'mine', content: 'c', description: 'd' }),
  ).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'EIO',
    message: expect.stringMatching(
      /^the memory was written, but that could not be confirmed/u,
    ) as string,
  })
  expect(await linesOf(memory)).toEqual(['- [mine](mine.md) — d'])
  expect(await memoryFilesOf(memory)).toEqual(['mine.md'])
  expect(await litterOf(memory)).toEqual([])
})

test('a replaced file whose name is too long to be moved aside gets its old bytes back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  const fileName = `${'n'.repeat(240)}.md`
  await givenFiles(memory, {
    'MEMORY.md': `- [Größe prüfen](${fileName}) — hook\n`,
    [fileName]: 'old body\n',
  })
  watched.before = failMatching(isIndexRename, 'ENOSPC')
  const saving = memory.store.save({ key: 'Größe prüfen', content: 'new', description: 'other' })
  await expect(saving).rejects.toMatchObject({
    errno: 'ENOSPC',
    message: expect.stringMatching(/the memory files are as before$/u) as string,
  })
  // Once by the save, once on the way back.
  expect(watched.calls.filter(({ to }) => to?.endsWith(`/${fileName}`) === true)).toHaveLength(2)
  expect(await memoryFilesOf(memory)).toEqual([fileName])
  expect(await fileOf(memory, fileName)).toBe('old body\n')
  expect(await litterOf(memory)).toEqual([])
})

test('an old file that is back counts as such, also when the new one stands aside still', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  await memory.store.save({ key: 'rule', content: 'old' })
  const path = join(memory.paths.root, 'rule.md')
  await utimes(path, 1_700_000_000, 1_700_000_000)
  const before = await snapshotOf(memory)
  watched.before = (call) => {
    failMatching(isIndexRename, 'EIO')(call)
    failMatching(({ name, path: at }) => name === 'unlink' && at.includes('.aside-'), 'EIO')(call)
  }
  const saving = memory.store.save({ key: 'rule', content: 'mine', description: 'other' })
  await expect(saving).rejects.toMatchObject({
    message: expect.stringMatching(/the memory files are as before$/u) as string,
  })
  expect((await stat(path)).mtimeMs).toBe(1_700_000_000_000)
  expect(before).toMatchObject({ 'rule.md': await fileOf(memory, 'rule.md') })
})

test('a failed undo says that its file is there when it may not be taken back', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: TIMES })
  await givenFiles(memory, { 'MEMORY.md': '- [Rule](rule.md)\n', 'rule.md': 'body\n' })
  await memory.store.forget({ fileName: 'rule.md' })
  watched.before = async (call) => {
    if (call.to?.includes('.aside-') === true) await takeLockAway(memory).catch(() => {})
    failMatching(isIndexRename, 'ENOSPC')(call)
  }
  await expect(memory.store.undo('rule.md')).rejects.toMatchObject({
    message: expect.stringMatching(/the file is back, .* undo again to finish$/u) as string,
  })
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  watched.before = () => {}
  await memory.store.undo('rule.md')
  expect(await linesOf(memory)).toEqual(['- [Rule](rule.md)'])
})
