import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import {
  anotherStore,
  givenFiles,
  litterOf,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

const DIGITS = '0123456789abcdef01234567'
const HOUR_S = 3_600

async function age(path: string): Promise<void> {
  const then = Date.now() / 1000 - HOUR_S
  await utimes(path, then, then)
}

test('temp files of a killed process are removed by the first save, young and strange ones stay', async () => {
  const memory = await testMemory()
  const old = [`.a.md.tmp-${DIGITS}`, `.MEMORY.md.tmp-${DIGITS}`]
  const kept = [`.young.md.tmp-${DIGITS}`, '.MEMORY.md.tmp-1234', 'build.md.tmp', '.hidden']
  await givenFiles(memory, Object.fromEntries([...old, ...kept].map((name) => [name, 'half'])))
  for (const name of [...old, ...kept.slice(1)]) await age(join(memory.paths.root, name))
  await memory.store.save({ key: 'x', content: 'c' })
  expect((await litterOf(memory)).sort()).toEqual(kept.sort())
})

test('after an orphaned lock litter is looked for again, otherwise not', async () => {
  const memory = await testMemory()
  await memory.store.save({ key: 'x', content: 'c' })
  const path = join(memory.paths.root, `.a.md.tmp-${DIGITS}`)
  await writeFile(path, 'half')
  await age(path)
  const watched = watchFileSystem()
  const store = anotherStore(memory, { fileSystem: watched.fileSystem })
  await store.save({ key: 'y', content: 'c' })
  expect(watched.calls.filter(({ name }) => name === 'readdir')).toEqual([])
  await mkdir(memory.lockPath)
  await age(memory.lockPath)
  await store.save({ key: 'z', content: 'c' })
  expect(await litterOf(memory)).toEqual([])
})

test('moved locks beside the memory and temp files in the trash are removed too', async () => {
  const memory = await testMemory()
  await givenFiles(memory, {})
  const trash = join(memory.paths.root, '.trash')
  await mkdir(trash)
  const temporary = join(trash, `.a.md.trash.tmp-${DIGITS}`)
  await writeFile(temporary, 'half')
  await writeFile(join(trash, '20260101T000000000Z-a.md.trash'), 'kept')
  const moved = `${memory.lockPath}.orphan-0123456789abcdef`
  await mkdir(join(moved, 'deep'), { recursive: true })
  await age(temporary)
  await age(moved)
  await memory.store.save({ key: 'x', content: 'c' })
  expect(await litterOf(memory)).toEqual(['.trash'])
  expect(await readdir(trash)).toEqual(['20260101T000000000Z-a.md.trash'])
})

test('a trash that is a link is not swept', async () => {
  const memory = await testMemory()
  await givenFiles(memory, {})
  const victim = join(memory.home, 'victim')
  await mkdir(victim)
  const path = join(victim, `.a.tmp-${DIGITS}`)
  await writeFile(path, 'not ours')
  await age(path)
  await symlink(victim, join(memory.paths.root, '.trash'))
  await memory.store.save({ key: 'x', content: 'c' })
  expect(await readdir(victim)).toEqual([`.a.tmp-${DIGITS}`])
})

test('a temp file that could not be removed is removed by the next save, young as it is', async () => {
  const watched = watchFileSystem((call) => {
    failMatching(({ name }) => name === 'rename', 'ENOSPC')(call)
    failMatching(({ name }) => name === 'unlink', 'EBUSY')(call)
  })
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  await expect(memory.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    errno: 'ENOSPC',
  })
  expect(await litterOf(memory)).toHaveLength(2)
  watched.before = () => {}
  await memory.store.save({ key: 'y', content: 'c' })
  expect(await litterOf(memory)).toEqual([])
})

test('litter that cannot be removed or listed does not make a save fail, nor hide other litter', async () => {
  const stuck = `.a.md.tmp-${DIGITS}`
  const { memory, watched } = await watchedMemory()
  await givenFiles(memory, { [stuck]: 'half', [`.b.md.tmp-${DIGITS}`]: 'half' })
  for (const name of await readdir(memory.paths.root)) await age(join(memory.paths.root, name))
  watched.before = failMatching(({ name, path }) => name === 'rm' && path.endsWith(stuck), 'EPERM')
  await memory.store.save({ key: 'x', content: 'c' })
  expect(await litterOf(memory)).toEqual([stuck])
  const other = await testMemory({
    fileSystem: watchFileSystem(failMatching(({ name }) => name === 'readdir', 'EACCES'))
      .fileSystem,
  })
  await other.store.save({ key: 'x', content: 'c' })
})
