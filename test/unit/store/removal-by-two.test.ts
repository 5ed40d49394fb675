/** A removal during which another writer comes to count on the file, or on its copy. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importMemories } from '../../../src/store/import.ts'
import {
  FILES,
  LINE,
  forgottenMemory,
  isRemoval,
  relistedByAnother,
  undoneByAnother,
} from '../../support/another-writer.ts'
import type { FileSystemCall } from '../../support/faulty-file-system.mjs'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { isIndexRename, once } from '../../support/store-calls.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'
import {
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  takeLockAway,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

const MOMENTS: [name: string, isMoment: (call: FileSystemCall) => boolean][] = [
  ['before the file is moved aside', isRemoval],
  ['before it is looked at there', ({ name, path }) => name === 'open' && path.includes('.aside-')],
]

describe.each(MOMENTS)('an undo of another process %s', (_name, isMoment) => {
  test('is followed by the forget with a copy of its own', async () => {
    const { memory, watched } = await watchedMemory()
    await givenFiles(memory, FILES)
    watched.before = once(isMoment, () => relistedByAnother(memory))
    const { trashPath } = await memory.store.forget({ fileName: 'rule.md' })
    expect((await readFile(trashPath ?? '', 'utf8')).endsWith('\nbody\n')).toBe(true)
    expect(await linesOf(memory)).toEqual([])
    expect(await memoryFilesOf(memory)).toEqual([])
  })

  test('is followed by a removal with a copy of its own', async () => {
    const { memory, watched } = await watchedMemory()
    await givenFiles(memory, FILES)
    watched.before = once(isMoment, () => relistedByAnother(memory))
    const { trashPath } = await memory.store.removeFile({ fileName: 'rule.md' })
    expect((await readFile(trashPath, 'utf8')).endsWith('\nbody\n')).toBe(true)
  })

  test('keeps the file from a failed undo that takes its own back', async () => {
    const { memory, watched } = await forgottenMemory()
    const undoByAnother = once(isMoment, () => relistedByAnother(memory))
    watched.before = async (call) => {
      await undoByAnother(call)
      failMatching(isIndexRename, 'ENOSPC')(call)
    }
    await expect(memory.store.undo('rule.md')).rejects.toMatchObject({ errno: 'ENOSPC' })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })

  test('keeps the file from doctor', async () => {
    const { memory, watched } = await forgottenMemory()
    await givenFiles(memory, { 'rule.md': 'body\n' })
    const findings = await memory.store.examine()
    watched.before = once(isMoment, () => relistedByAnother(memory))
    await memory.store.repair(findings)
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })
})

test('a copy is not dropped when the file that it was made of is gone', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': '', 'rule.md': 'body\n' })
  watched.before = once(
    ({ name, path }) => name === 'utimes' && path.endsWith('.trash'),
    async () => {
      // Another process took it for a forget to finish.
      await takeLockAway(memory)
      await rm(join(memory.paths.root, 'rule.md'))
    },
  )
  await memory.store.forget({ fileName: 'rule.md' })
  await memory.store.undo('rule.md')
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
})

test('a purge leaves copies alone that are made after it began', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  await memory.store.forget({ fileName: 'rule.md' })
  await givenFiles(memory, FILES)
  const newer = join(memory.paths.root, '.trash', '20990101T000000000Z-rule.md.trash')
  watched.before = once(isIndexRename, () =>
    writeFile(newer, `${JSON.stringify({ fileName: 'rule.md' })}\nnewer\n`),
  )
  await memory.store.forget({ fileName: 'rule.md', purge: true })
  expect((await memory.store.listTrash()).map(({ path }) => path)).toEqual([newer])
})

test('a purge of copies is refused while a version of the memory stands aside', async () => {
  const { memory, watched } = await forgottenMemory()
  await givenFiles(memory, { '.rule.md.aside-0123456789ab': 'body\n' })
  watched.before = failMatching(
    ({ name, path }) => name === 'unlink' && path.includes('.aside-'),
    'EIO',
  )
  const purge = { fileName: 'rule.md', purge: true }
  await expect(memory.store.forget(purge)).rejects.toMatchObject({ errno: 'EIO' })
  expect(await memory.store.listTrash()).toHaveLength(1)
  watched.before = () => {}
  await memory.store.forget(purge)
  expect(await memory.store.listTrash()).toEqual([])
  expect(await memoryFilesOf(memory)).toEqual([])
})

test('a purge of copies that another process has undone meanwhile begins anew', async () => {
  const { memory, watched } = await forgottenMemory()
  watched.before = once(
    ({ name, path }) => name === 'rm' && path.endsWith('.trash'),
    () => undoneByAnother(memory),
  )
  await memory.store.forget({ fileName: 'rule.md', purge: true })
  expect(await memoryFilesOf(memory)).toEqual([])
  expect(await linesOf(memory)).toEqual([])
})

test('a purge that fails gives the file back only under its lock', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  watched.before = async (call) => {
    if (!isIndexRename(call)) return
    await takeLockAway(memory)
    await givenFiles(memory, { 'MEMORY.md': '' })
    failMatching(() => true, 'ENOSPC')(call)
  }
  const purging = memory.store.forget({ fileName: 'rule.md', purge: true })
  await expect(purging).rejects.toMatchObject({
    message: expect.stringMatching(/the file was removed; forget it again to finish$/u) as string,
  })
  expect(await memoryFilesOf(memory)).toEqual([])
})

test('a forget begins anew when another writer has saved the same content', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  watched.before = once(isRemoval, async () => {
    await takeLockAway(memory)
    await rm(join(memory.paths.root, 'rule.md'))
    await givenFiles(memory, FILES)
  })
  await memory.store.forget({ fileName: 'rule.md' })
  expect(await memory.store.examine()).toEqual([])
  expect(await linesOf(memory)).toEqual([])
})

test('a change that fails takes back what it has written before it gives the lock back', async () => {
  const watched = watchFileSystem()
  const memory = await testMemory()
  const folder = await temporaryDirectory()
  await writeFile(join(folder, 'rule.md'), 'body\n')
  watched.before = failMatching(isIndexRename, 'ENOSPC')
  await expect(importMemories(folder, memory.paths, watched.fileSystem)).rejects.toMatchObject({
    errno: 'ENOSPC',
  })
  const at = (isCall: (call: FileSystemCall) => boolean): number => watched.calls.findIndex(isCall)
  expect(at(isRemoval)).toBeGreaterThan(0)
  expect(at(isRemoval)).toBeLessThan(
    at(({ name, path }) => name === 'rmdir' && path === memory.lockPath),
  )
  expect(await memoryFilesOf(memory)).toEqual([])
})

test('a save that meets a changed index at every try puts the old file back under its lock', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  let edits = 0
  watched.before = async (call) => {
    const isCheck = call.name === 'lstat' && call.path === memory.paths.indexFilePath
    if (isCheck) await writeFile(memory.paths.indexFilePath, `${LINE}\nedit ${(edits += 1)}\n`)
  }
  const saving = memory.store.save({ key: 'Rule', content: 'new', description: 'd' })
  await expect(saving).rejects.toMatchObject({ code: 'FILE_CHANGED' })
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  const returned = watched.calls.findLastIndex(({ to }) => to?.endsWith('/rule.md') === true)
  const released = watched.calls.findIndex(
    ({ name, path }) => name === 'rmdir' && path === memory.lockPath,
  )
  expect(returned).toBeLessThan(released)
  expect(await litterOf(memory)).toEqual([])
})
