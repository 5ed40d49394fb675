/** Files that stand aside while they are removed, and names that are only taken when they are free. */
import { mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { publishIfAbsent, stageFile } from '../../../src/store/atomic-write.ts'
import { removeVersion } from '../../../src/store/remove-version.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { isIndexRename, once } from '../../support/store-calls.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'
import type { TestMemory } from '../../support/test-memory.ts'
import {
  anotherStore,
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

const ASIDE = '.rule.md.aside-0123456789ab'
const LINE = '- [Rule](rule.md) — hook'

async function litterBesideTrash(memory: TestMemory): Promise<string[]> {
  return (await litterOf(memory)).filter((name) => name !== '.trash')
}

test('the only copy of a memory that stands aside is put back by the next change', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, [ASIDE]: 'body\n' })
  await memory.store.save({ key: 'other', content: 'c' })
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  expect(await litterOf(memory)).toEqual([])
})

test('a file that stands aside goes to the trash when another file has its name', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'one\n', [ASIDE]: 'two\n' })
  expect(await memory.store.examine()).toMatchObject([
    { code: 'moved-aside', repair: 'move it to the trash, since there is another rule.md by now' },
  ])
  await memory.store.save({ key: 'other', content: 'c' })
  expect(await fileOf(memory, 'rule.md')).toBe('one\n')
  expect(await litterBesideTrash(memory)).toEqual([])
  const trashed = await memory.store.listTrash()
  expect(trashed.map(({ record }) => record.fileName)).toEqual(['rule.md'])
  expect((await readFile(trashed[0]?.path ?? '', 'utf8')).endsWith('\ntwo\n')).toBe(true)
})

test('a file that stands aside goes when the same bytes have its name', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'one\n', [ASIDE]: 'one\n' })
  await memory.store.save({ key: 'other', content: 'c' })
  expect(await litterOf(memory)).toEqual([])
})

test('of several versions that stand aside the one that was moved last gets the name', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n` })
  for (const [at, digit] of ['f', '0', '8'].entries()) {
    await givenFiles(memory, { [`.rule.md.aside-${digit.repeat(12)}`]: `version ${at}\n` })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(await memory.store.repair(await memory.store.examine())).toHaveLength(3)
  expect(await fileOf(memory, 'rule.md')).toBe('version 2\n')
  expect(await memory.store.listTrash()).toHaveLength(2)
  expect(await memory.store.examine()).toEqual([])
})

test('a file that stands aside goes when its copy is in the trash, and comes back when another version is', async () => {
  for (const [content, isForgotten] of [
    ['body\n', true],
    ['newer\n', false],
  ] as const) {
    const memory = await testMemory()
    await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
    await anotherStore(memory).forget({ fileName: 'rule.md' })
    await givenFiles(memory, { [ASIDE]: content })
    const findings = await memory.store.examine()
    expect(findings.map(({ code }) => code)).toEqual([
      isForgotten ? 'temporary-file' : 'moved-aside',
    ])
    expect(await memory.store.repair(findings)).toEqual(findings)
    expect(await memoryFilesOf(memory)).toEqual(isForgotten ? [] : ['rule.md'])
    expect(await memory.store.examine()).toEqual([])
    expect(await litterBesideTrash(memory)).toEqual([])
  }
})

test('doctor names a file that stands aside instead of its line, and puts it back', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, [ASIDE]: 'body\n' })
  const findings = await memory.store.examine()
  expect(findings).toMatchObject([
    {
      code: 'moved-aside',
      path: join(memory.paths.root, ASIDE),
      fileName: 'rule.md',
      repair: 'put rule.md back, with a line in the index',
    },
  ])
  expect(await memory.store.repair(findings)).toEqual(findings)
  expect(await linesOf(memory)).toEqual([LINE])
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
})

test('what cannot belong to a memory is not taken for a file that stands aside', async () => {
  const memory = await testMemory()
  const strange = ['.MEMORY.md.aside-0123456789ab', '....aside-0123456789ab', '.rule.md.aside-01']
  await givenFiles(memory, Object.fromEntries(strange.map((name) => [name, 'x'])))
  await memory.store.save({ key: 'other', content: 'c' })
  expect((await litterOf(memory)).sort()).toEqual([...strange].sort())
  expect(await linesOf(memory)).toHaveLength(1)
})

test('a link or a folder that stands aside is not put back, and nothing behind it is touched', async () => {
  const outside = await temporaryDirectory()
  await writeFile(join(outside, 'secret.md'), 'secret')
  const memory = await testMemory()
  await givenFiles(memory, {})
  await symlink(join(outside, 'secret.md'), join(memory.paths.root, ASIDE))
  const folder = '.other.md.aside-0123456789ab'
  await mkdir(join(memory.paths.root, folder))
  await memory.store.save({ key: 'x', content: 'c' })
  expect(await memoryFilesOf(memory)).toEqual(['x.md'])
  expect((await litterOf(memory)).sort()).toEqual([folder, ASIDE])
  await memory.store.save({ key: 'rule', content: 'c' })
  const findings = await memory.store.examine()
  expect(findings.map(({ code, repair }) => [code, repair])).toEqual([
    ['unreadable-file', undefined],
    ['unreadable-file', undefined],
  ])
  await memory.store.repair(findings)
  expect(await readFile(join(outside, 'secret.md'), 'utf8')).toBe('secret')
  expect((await litterOf(memory)).sort()).toEqual([folder, ASIDE])
})

test('a disk that fails while the file stands aside: the error says where it is, and the next save of the same process settles it', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
  watched.before = (call) => {
    failMatching(({ name, path }) => name === 'lstat' && path.includes('.aside-'), 'EIO')(call)
    failMatching(({ to }) => to?.endsWith('/rule.md') === true, 'EIO')(call)
  }
  const purging = memory.store.forget({ fileName: 'rule.md', purge: true })
  await expect(purging).rejects.toMatchObject({
    errno: 'EIO',
    message: expect.stringMatching(
      /rule\.md stands aside as \.rule\.md\.aside-[0-9a-f]{12}, since the disk did not let it return \(EIO\); run doctor fix$/u,
    ) as string,
  })
  expect(await linesOf(memory)).toEqual([LINE])
  watched.before = () => {}
  await memory.store.save({ key: 'other', content: 'c' })
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  expect(await litterOf(memory)).toEqual([])
})

test('a purge whose file cannot be unlinked has not happened', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
  watched.before = failMatching(
    ({ name, path }) => name === 'unlink' && path.includes('.aside-'),
    'EIO',
    1,
  )
  const purging = memory.store.forget({ fileName: 'rule.md', purge: true })
  await expect(purging).rejects.toMatchObject({ errno: 'EIO' })
  expect(await fileOf(memory, 'rule.md')).toBe('body\n')
  expect(await litterOf(memory)).toEqual([])
})

test('a name too long to be moved aside is looked at where it stands', async () => {
  const folder = await temporaryDirectory()
  const path = join(folder, `${'n'.repeat(250)}.md`)
  const { fileSystem } = watchFileSystem()
  await writeFile(path, 'body')
  expect(await removeVersion(path, { bytes: Buffer.from('other') }, fileSystem)).toBe(false)
  expect(await readFile(path, 'utf8')).toBe('body')
  expect(await removeVersion(path, { bytes: Buffer.from('body') }, fileSystem)).toBe(true)
  expect(await readdir(folder)).toEqual([])
})

test('an undo does not overwrite a file that takes the name at the last moment', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
  await memory.store.forget({ fileName: 'rule.md' })
  const isPublishing = ({ name, to }: { name: string; to?: string }): boolean =>
    ['link', 'rename'].includes(name) && to?.endsWith('/rule.md') === true
  watched.before = once(isPublishing, async () => {
    await writeFile(join(memory.paths.root, 'rule.md'), 'by an editor')
  })
  await expect(memory.store.undo('rule.md')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await fileOf(memory, 'rule.md')).toBe('by an editor')
  expect(await memory.store.listTrash()).toHaveLength(1)
  expect(await litterBesideTrash(memory)).toEqual([])
})

test('a purge that cannot finish does not overwrite a file that takes the name meanwhile', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
  watched.before = async (call) => {
    if (!isIndexRename(call)) return
    await writeFile(join(memory.paths.root, 'rule.md'), 'by an editor')
    failMatching(() => true, 'EIO')(call)
  }
  const purging = memory.store.forget({ fileName: 'rule.md', purge: true })
  await expect(purging).rejects.toMatchObject({ errno: 'EIO' })
  expect(await fileOf(memory, 'rule.md')).toBe('by an editor')
})

test('doctor finishes a forget only with the version whose copy is in the trash', async () => {
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' })
  await memory.store.forget({ fileName: 'rule.md' })
  await givenFiles(memory, { 'rule.md': 'body\n' })
  const findings = await memory.store.examine()
  expect(findings.map(({ code }) => code)).toEqual(['unfinished-forget'])
  watched.before = once(
    ({ name, path }) => name === 'rename' && path.endsWith('/rule.md'),
    () => writeFile(join(memory.paths.root, 'rule.md'), 'by an editor'),
  )
  expect(await memory.store.repair(findings)).toEqual(findings)
  expect(await fileOf(memory, 'rule.md')).toBe('by an editor')
  expect(await memory.store.examine()).toMatchObject([{ code: 'unfinished-save' }])
})

test.each([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EXDEV',
  'EACCES',
  'EISDIR',
  'EIO',
])(
  'without hard links (%s) a free name is taken by a rename, and a taken one is left alone',
  async (errno) => {
    const folder = await temporaryDirectory()
    const { fileSystem } = watchFileSystem(failMatching(({ name }) => name === 'link', errno))
    const target = join(folder, 'a.md')
    expect(await publishIfAbsent(await stageFile(target, 'one'), fileSystem)).toBe(true)
    expect(await publishIfAbsent(await stageFile(target, 'two'), fileSystem)).toBe(false)
    expect(await readFile(target, 'utf8')).toBe('one')
    expect(await readdir(folder)).toEqual(['a.md'])
  },
)

test('a file that was published under a free name has one name, and one whose publishing fails none', async () => {
  const folder = await temporaryDirectory()
  const target = join(folder, 'a.md')
  expect(await publishIfAbsent(await stageFile(target, 'one'))).toBe(true)
  expect((await stat(target)).nlink).toBe(1)
  await rm(target)
  const { fileSystem } = watchFileSystem(failMatching(({ to }) => to === target, 'EIO'))
  await expect(publishIfAbsent(await stageFile(target, 'one'), fileSystem)).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    path: target,
    errno: 'EIO',
  })
  expect(await readdir(folder)).toEqual([])
})
