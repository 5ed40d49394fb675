/** Removing a memory file into the trash while its index line stays. */
import { mkdir, readFile, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TestMemory } from '../../support/test-memory.ts'
import {
  SHORT_LOCK_TIMES,
  anotherStore,
  fileOf,
  givenFiles,
  indexOf,
  litterOf,
  memoryFilesOf,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

const INDEX = '# Notes\n- [First](first.md) — stays\n- [Rule](rule.md) — hook\n'
const RULE = '---\nname: rule\ndescription: hook\nmetadata:\n  title: Rule\n---\n\nbody\n'
const FILES = { 'MEMORY.md': INDEX, 'first.md': 'one\n', 'rule.md': RULE }

const findingsOf = async ({ store }: TestMemory): Promise<string[]> =>
  (await store.examine()).map(({ code }) => code)

test('the file goes to the trash and the index keeps every byte', async () => {
  const memory = await testMemory()
  await givenFiles(memory, FILES)
  const removed = await memory.store.removeFile({ fileName: 'rule.md', sessionId: 's1' })
  expect(removed.filePath).toBe(join(memory.paths.root, 'rule.md'))
  expect(await memoryFilesOf(memory)).toEqual(['first.md'])
  expect(await indexOf(memory)).toBe(INDEX)
  const [line, ...rest] = (await readFile(removed.trashPath, 'utf8')).split('\n')
  expect(JSON.parse(line ?? '')).toEqual({
    fileName: 'rule.md',
    title: 'Rule',
    indexLine: '- [Rule](rule.md) — hook\n',
    after: 'first.md',
    sessionId: 's1',
  })
  expect(rest.join('\n')).toBe(RULE)
  expect(await litterOf(memory)).toEqual(['.trash'])
})

test('doctor sees a line to remove, and nothing once it is removed', async () => {
  const memory = await testMemory()
  await givenFiles(memory, FILES)
  await memory.store.removeFile({ fileName: 'rule.md' })
  expect(await findingsOf(memory)).toEqual(['dangling-line'])
  await givenFiles(memory, { 'MEMORY.md': '# Notes\n- [First](first.md) — stays\n' })
  expect(await findingsOf(memory)).toEqual([])
})

test.each([
  ['before its line', [INDEX, INDEX.replace(/- \[Rule.*\n/u, '')]],
  ['after its line', [INDEX.replace(/- \[Rule.*\n/u, ''), INDEX.replace(/- \[Rule.*\n/u, '')]],
])('a file removed %s can be had back with its line', async (_when, [at = '', later = '']) => {
  const memory = await testMemory()
  await givenFiles(memory, { ...FILES, 'MEMORY.md': at })
  await memory.store.removeFile({ fileName: 'rule.md' })
  await givenFiles(memory, { 'MEMORY.md': later })
  await memory.store.undo('rule.md')
  expect(await fileOf(memory, 'rule.md')).toBe(RULE)
  expect(await indexOf(memory)).toBe(INDEX)
  expect(await memory.store.listTrash()).toEqual([])
})

test('a crash before the file is gone is a forget to finish once its line is away', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: SHORT_LOCK_TIMES })
  await givenFiles(memory, { ...FILES, 'MEMORY.md': '- [First](first.md)\n' })
  // What a killed process cannot do any more: move the file away, or remove its copy.
  watched.before = ({ name, path }) => {
    const isMove = name === 'rename' && path.endsWith('/rule.md')
    if (isMove || (name === 'rm' && path.endsWith('.trash'))) {
      throw Object.assign(new Error('killed'), { code: 'EIO' })
    }
  }
  await expect(memory.store.removeFile({ fileName: 'rule.md' })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
  })
  const after = anotherStore(memory)
  const findings = await after.examine()
  expect(findings.map(({ code }) => code)).toEqual(['unfinished-forget'])
  await after.repair(findings)
  expect(await memoryFilesOf(memory)).toEqual(['first.md'])
  expect(await after.listTrash()).toHaveLength(1)
})

test('an index that nobody can read does not keep a file', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': Buffer.from([0xff, 0xfe]), 'rule.md': RULE })
  await memory.store.removeFile({ fileName: 'rule.md' })
  expect(await memoryFilesOf(memory)).toEqual([])
  expect(await memory.store.listTrash()).toMatchObject([{ record: { indexLine: '' } }])
})

test('a lock that is lost before the file goes is waited for, and the new content is kept', async () => {
  const { memory, watched } = await watchedMemory({ lockTimes: SHORT_LOCK_TIMES })
  await givenFiles(memory, FILES)
  let isStolen = false
  watched.before = async ({ name, to }) => {
    if (name !== 'rename' || to?.endsWith('.trash') !== true || isStolen) return
    isStolen = true
    await utimes(memory.lockPath, 1_000, 1_000)
    await givenFiles(memory, { 'rule.md': 'by another process\n' })
  }
  const { trashPath } = await memory.store.removeFile({ fileName: 'rule.md' })
  expect(isStolen).toBe(true)
  expect(await memoryFilesOf(memory)).toEqual(['first.md'])
  // What was copied first is nowhere else any more, so its copy stays.
  const [newest, ...older] = await memory.store.listTrash()
  expect(newest?.path).toBe(trashPath)
  expect(older).toHaveLength(1)
  expect(await readFile(trashPath, 'utf8')).toMatch(/\nby another process\n$/u)
})

test('copies that are too old go', async () => {
  const memory = await testMemory()
  await givenFiles(memory, FILES)
  const trash = join(memory.paths.root, '.trash')
  await mkdir(trash)
  await writeFile(join(trash, '20200101T000000000Z-old.md.trash'), '{"fileName":"old.md"}\nx')
  await memory.store.removeFile({ fileName: 'rule.md' })
  expect(await memory.store.listTrash()).toMatchObject([{ record: { fileName: 'rule.md' } }])
})

test.each([
  ['a file that is not there', 'gone.md', 'NOT_FOUND'],
  ['a line without a file', 'listed.md', 'NOT_FOUND'],
  ['the index', 'MEMORY.md', 'UNSAFE_PATH'],
  ['a path', '../x.md', 'UNSAFE_PATH'],
  ['a link', 'link.md', 'UNSAFE_PATH'],
  ['a directory', 'folder.md', 'NOT_REGULAR_FILE'],
])('%s is refused', async (_what, fileName, code) => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': '- [Listed](listed.md)\n', 'rule.md': RULE })
  await writeFile(join(memory.home, 'outside.md'), 'outside\n')
  await symlink(join(memory.home, 'outside.md'), join(memory.paths.root, 'link.md'))
  await mkdir(join(memory.paths.root, 'folder.md'))
  await expect(memory.store.removeFile({ fileName })).rejects.toMatchObject({ code })
  expect(await readFile(join(memory.home, 'outside.md'), 'utf8')).toBe('outside\n')
  expect((await readdir(memory.paths.root)).sort()).toEqual([
    'MEMORY.md',
    'folder.md',
    'link.md',
    'rule.md',
  ])
})

test('nothing is made for a memory that does not exist', async () => {
  const memory = await testMemory()
  await expect(memory.store.removeFile({ fileName: 'rule.md' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await readdir(memory.home)).toEqual([])
})
