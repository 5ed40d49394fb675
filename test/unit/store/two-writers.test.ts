/** A forget, an undo or a save whose lock goes to another writer at the worst moment. */
import { mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  FILES,
  LINE,
  emptyTrash,
  forgottenMemory,
  isIndexStaging,
  isRemoval,
  undoneByAnother,
} from '../../support/another-writer.ts'
import { failMatching } from '../../support/faulty-file-system.mjs'
import { isIndexRename, once } from '../../support/store-calls.ts'
import {
  anotherStore,
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  takeLockAway,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

describe('an undo', () => {
  test('that another one finishes has happened', async () => {
    const { memory, watched } = await forgottenMemory()
    watched.before = once(isIndexStaging, () => undoneByAnother(memory))
    await expect(memory.store.undo('rule.md')).resolves.toMatchObject({ fileName: 'rule.md' })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
    expect(await linesOf(memory)).toEqual([LINE])
  })

  test('that is given up after its lock was lost leaves the file, and says so', async () => {
    const { memory, watched } = await forgottenMemory()
    const controller = new AbortController()
    watched.before = once(isIndexStaging, async () => {
      await undoneByAnother(memory)
      controller.abort()
    })
    await expect(memory.store.undo('rule.md', controller.signal)).rejects.toMatchObject({
      name: 'AbortError',
      message: expect.stringMatching(/the file is back, .* undo again to finish$/u) as string,
    })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
    expect(await memory.store.examine()).toEqual([])
  })

  test('takes its file back only beside its copy', async () => {
    const { memory, watched } = await forgottenMemory()
    watched.before = async (call) => {
      if (!isIndexRename(call)) return
      await emptyTrash(memory)
      failMatching(() => true, 'EIO')(call)
    }
    await expect(memory.store.undo('rule.md')).rejects.toMatchObject({ errno: 'EIO' })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })

  test('of one memory does not need the copies of others', async () => {
    const { memory, watched } = await watchedMemory()
    await givenFiles(memory, { ...FILES, 'other.md': 'other\n' })
    await memory.store.forget({ fileName: 'rule.md' })
    await memory.store.forget({ fileName: 'other.md' })
    watched.before = failMatching(
      ({ name, path }) => name === 'open' && path.endsWith('-other.md.trash'),
      'EACCES',
    )
    await memory.store.undo('rule.md')
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
    await expect(memory.store.undo()).rejects.toMatchObject({ code: 'READ_FAILED' })
  })
})

describe('a forget', () => {
  test('that another undo follows at once copies anew', async () => {
    const { memory, watched } = await watchedMemory()
    await givenFiles(memory, FILES)
    let isPublished = false
    watched.before = async (call) => {
      if (isPublished) {
        watched.before = () => {}
        await undoneByAnother(memory)
      }
      isPublished ||= isIndexRename(call)
    }
    const { trashPath } = await memory.store.forget({ fileName: 'rule.md' })
    expect((await readFile(trashPath ?? '', 'utf8')).endsWith('\nbody\n')).toBe(true)
    await memory.store.undo()
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })

  test('that another one finishes has happened', async () => {
    const { memory, watched } = await watchedMemory()
    await givenFiles(memory, FILES)
    watched.before = once(isRemoval, async () => {
      await takeLockAway(memory)
      await rm(join(memory.paths.root, 'rule.md'))
      await emptyTrash(memory)
      // The index of the other has no line either.
    })
    await expect(memory.store.forget({ fileName: 'rule.md', purge: true })).resolves.toMatchObject({
      fileName: 'rule.md',
      undoUntilMs: undefined,
    })
    expect(await memory.store.examine()).toEqual([])
  })

  test('that was plain can be followed by a purge, by key or file name', async () => {
    for (const reference of [{ key: 'rule' }, { key: 'RULE' }, { fileName: 'rule.md' }]) {
      const memory = await testMemory()
      await memory.store.save({ key: 'Rule', content: 'one' })
      await memory.store.forget({ key: 'Rule' })
      await memory.store.save({ key: 'Rule', content: 'two' })
      await memory.store.forget({ key: 'Rule' })
      expect(await memory.store.listTrash()).toHaveLength(2)
      const purged = await memory.store.forget({ ...reference, purge: true })
      expect(purged).toEqual({
        fileName: 'rule.md',
        title: 'Rule',
        undoUntilMs: undefined,
        trashPath: undefined,
      })
      expect(await memory.store.listTrash()).toEqual([])
      await expect(memory.store.forget({ ...reference, purge: true })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    }
  })

  test('takes what stands aside with it, also when this process has looked before', async () => {
    const memory = await testMemory()
    await memory.store.save({ key: 'other', content: 'c' })
    await givenFiles(memory, {
      'MEMORY.md': `${LINE}\n`,
      '.rule.md.aside-0123456789ab': 'body\n',
    })
    await memory.store.forget({ fileName: 'rule.md', purge: true })
    expect(await litterOf(memory)).toEqual([])
    await anotherStore(memory).save({ key: 'third', content: 'c' })
    expect(await memoryFilesOf(memory)).toEqual(['other.md', 'third.md'])
  })

  test('is refused while a version stands aside that cannot be tidied up', async () => {
    const memory = await testMemory()
    await givenFiles(memory, FILES)
    await mkdir(join(memory.paths.root, '.rule.md.aside-0123456789ab'))
    const forgetting = memory.store.forget({ fileName: 'rule.md', purge: true })
    await expect(forgetting).rejects.toMatchObject({
      code: 'NOT_REGULAR_FILE',
      message: expect.stringMatching(/^a version of rule\.md .* run doctor$/u) as string,
    })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })

  test('is the newest in the trash and stays there, whatever the clock says', async () => {
    const memory = await testMemory()
    await givenFiles(memory, FILES)
    const trash = join(memory.paths.root, '.trash')
    await mkdir(trash)
    for (let at = 0; at < 100; at += 1) {
      const name = `20990101T000000${String(at).padStart(3, '0')}Z-old-${at}.md.trash`
      await writeFile(join(trash, name), `${JSON.stringify({ fileName: `old-${at}.md` })}\nold\n`)
    }
    await memory.store.forget({ fileName: 'rule.md' })
    expect(await memory.store.undo()).toMatchObject({ fileName: 'rule.md' })
    expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  })
})

test('an entry that was put back but cannot be flushed is told so', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  let isPutBack = false
  watched.before = (call) => {
    if (isRemoval(call)) throw Object.assign(new Error('fault'), { code: 'EIO' })
    const isFlush = call.name === 'handle.sync' && call.path === memory.paths.root
    if (isPutBack && isFlush) throw Object.assign(new Error('fault'), { code: 'EIO' })
    isPutBack ||= isIndexRename(call) && watched.calls.filter(isIndexRename).length === 2
  }
  await expect(memory.store.forget({ fileName: 'rule.md' })).rejects.toMatchObject({
    message: expect.stringMatching(
      /the memory is as before, but that could not be confirmed$/u,
    ) as string,
  })
  expect(await linesOf(memory)).toEqual([LINE])
})

test('a failed save does not take away an equal file that another writer has put there since', async () => {
  const { memory, watched } = await watchedMemory()
  const path = join(memory.paths.root, 'x.md')
  watched.before = async (call) => {
    if (!isIndexRename(call)) return
    const bytes = await readFile(path)
    await rm(path)
    await writeFile(path, bytes)
    failMatching(() => true, 'EIO')(call)
  }
  await expect(memory.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    errno: 'EIO',
  })
  expect(await memoryFilesOf(memory)).toEqual(['x.md'])
})

test('a failed save that meets its own file put back by another process removes it again', async () => {
  const { memory, watched } = await watchedMemory()
  watched.before = async (call) => {
    if (call.name === 'rename' && call.to?.includes('.aside-') === true) {
      watched.before = once(
        ({ name, path }) => name === 'lstat' && path.includes('.aside-'),
        async () => {
          const aside = (await litterOf(memory)).find((name) => name.includes('.aside-'))
          await rename(join(memory.paths.root, aside ?? ''), join(memory.paths.root, 'x.md'))
        },
      )
    }
    failMatching(isIndexRename, 'EIO')(call)
  }
  await expect(memory.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    message: expect.stringMatching(/the memory files are as before$/u) as string,
  })
  expect(await memoryFilesOf(memory)).toEqual([])
})

test('an index that another program writes now and then is edited under the same lock', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, FILES)
  let edits = 0
  watched.before = async (call) => {
    const isCheck = call.name === 'lstat' && call.path === memory.paths.indexFilePath
    if (!isCheck || edits >= 2) return
    edits += 1
    await writeFile(memory.paths.indexFilePath, `${LINE}\nedit ${edits}\n`)
    await utimes(memory.paths.indexFilePath, edits, edits)
  }
  await memory.store.forget({ fileName: 'rule.md' })
  expect(await linesOf(memory)).toEqual(['edit 2'])
  const locks = watched.calls.filter(
    ({ name, path }) => name === 'mkdir' && path === memory.lockPath,
  )
  expect(locks).toHaveLength(1)
})
