import {
  chmod,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { watchFileSystem } from '../../support/faulty-file-system.mjs'
import type { FileSystemCall } from '../../support/faulty-file-system.mjs'
import { once } from '../../support/store-calls.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'
import {
  givenFiles,
  holdLock,
  indexOf,
  linesOf,
  testMemory,
  watchedMemory,
} from '../../support/test-memory.ts'

test('new directories and files are for the owner alone, also while they are written', async () => {
  const before = process.umask(0o022)
  try {
    const seen = new Map<string, number>()
    const watched = watchFileSystem()
    const memory = await testMemory({ fileSystem: watched.fileSystem })
    watched.before = async ({ path, name }) => {
      if (name === 'rename' || name === 'rmdir') seen.set(name, (await lstat(path)).mode & 0o777)
    }
    const { filePath } = await memory.store.save({ key: 'x', content: 'c' })
    expect(seen).toEqual(
      new Map([
        ['rename', 0o600],
        ['rmdir', 0o700],
      ]),
    )
    const modes: Record<string, number> = {}
    let path = filePath
    for (; path !== memory.home; path = dirname(path))
      modes[path] = (await lstat(path)).mode & 0o777
    expect(Object.values(modes)).toEqual([0o600, 0o700, 0o700, 0o700, 0o700])
    expect((await lstat(memory.paths.indexFilePath)).mode & 0o777).toBe(0o600)
  } finally {
    process.umask(before)
  }
})

test('modes of what exists are kept, also a read-only index', async () => {
  const memory = await testMemory()
  await memory.store.save({ key: 'build', content: 'old' })
  const { root, indexFilePath } = memory.paths
  await chmod(root, 0o755)
  await chmod(indexFilePath, 0o444)
  await chmod(join(root, 'build.md'), 0o640)
  await memory.store.save({ key: 'build', content: 'new', description: 'other hook' })
  const modeOf = async (path: string): Promise<number> => (await lstat(path)).mode & 0o777
  expect(await modeOf(root)).toBe(0o755)
  expect(await modeOf(indexFilePath)).toBe(0o444)
  expect(await modeOf(join(root, 'build.md'))).toBe(0o640)
  expect(await linesOf(memory)).toEqual(['- [build](build.md) — other hook'])
})

test('a link at any level from projects down is not followed, by nobody', async () => {
  const victim = await temporaryDirectory()
  await writeFile(join(victim, 'MEMORY.md'), '- [Secret](secret.md)\n')
  for (const level of ['memory', 'project', 'projects'] as const) {
    const memory = await testMemory()
    const { root } = memory.paths
    const link = { memory: root, project: dirname(root), projects: dirname(dirname(root)) }[level]
    await mkdir(dirname(link), { recursive: true })
    await symlink(victim, link)
    const error = { code: 'UNSAFE_PATH', path: link }
    await expect(memory.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject(error)
    await expect(memory.store.readIndex()).rejects.toMatchObject(error)
    await expect(memory.store.listEntries()).rejects.toMatchObject(error)
  }
  expect(await readdir(victim)).toEqual(['MEMORY.md'])
})

test('a link that takes the place of the memory directory while the lock is awaited is refused', async () => {
  const victim = await temporaryDirectory()
  const { memory, watched } = await watchedMemory()
  const release = await holdLock(memory)
  const { root } = memory.paths
  const isWait = ({ name, path }: FileSystemCall): boolean =>
    name === 'mkdir' && path === memory.lockPath
  watched.before = once(isWait, async () => {
    await rename(root, `${root}-moved`)
    await symlink(victim, root)
  })
  const saving = memory.store.save({ key: 'x', content: 'c' })
  saving.catch(() => {})
  await vi.waitFor(() => expect(watched.calls.filter(isWait).length).toBeGreaterThan(1))
  await release()
  await expect(saving).rejects.toMatchObject({ code: 'UNSAFE_PATH', path: root })
  expect(await readdir(victim)).toEqual([])
})

test('links inside the memory directory are neither read nor written through', async () => {
  const memory = await testMemory()
  const victim = join(memory.home, 'victim')
  await writeFile(victim, '---\ndescription: secret\n---\nsecret\n')
  await givenFiles(memory, {})
  await symlink(victim, join(memory.paths.root, 'leak.md'))
  expect(await memory.store.listEntries()).toEqual([])
  await expect(memory.store.save({ key: 'leak', content: 'c' })).rejects.toMatchObject({
    code: 'UNSAFE_PATH',
    path: join(memory.paths.root, 'leak.md'),
  })
  expect(await readFile(victim, 'utf8')).toContain('secret')
  expect(await indexOf(memory)).toBe('')
})

test('DSH_HOME and memories may be links', async () => {
  const at = await temporaryDirectory()
  await mkdir(join(at, 'disk', 'memories'), { recursive: true })
  await symlink(join(at, 'disk'), join(at, 'home'))
  await mkdir(join(at, 'home2'))
  await symlink(join(at, 'disk', 'memories'), join(at, 'home2', 'memories'))
  for (const [key, home] of [
    ['one', 'home'],
    ['two', 'home2'],
    ['three', 'disk'],
  ] as const) {
    const paths = resolveProjectMemoryPaths('/p', { DSH_HOME: join(at, home) })
    await new ProjectMemoryStore(paths).save({ key, content: 'c', description: 'd' })
  }
  const paths = resolveProjectMemoryPaths('/p', { DSH_HOME: join(at, 'disk') })
  expect((await new ProjectMemoryStore(paths).readIndex()).content).toBe(
    '- [one](one.md) — d\n- [two](two.md) — d\n- [three](three.md) — d\n',
  )
})

test('a home on a disk that is not there fails with the path instead of trying for ever', async () => {
  const at = await temporaryDirectory()
  await symlink(join(at, 'not-mounted'), join(at, 'home'))
  const store = new ProjectMemoryStore(
    resolveProjectMemoryPaths('/p', { DSH_HOME: join(at, 'home') }),
  )
  await expect(store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'ENOENT',
    message: expect.stringContaining(join(at, 'home')) as string,
  })
  expect(await readdir(at)).toEqual(['home'])
})

test('a file in the place of a directory fails with its path', async () => {
  const memory = await testMemory()
  await writeFile(join(memory.home, 'memories'), 'a file')
  await expect(memory.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'ENOTDIR',
  })
  const other = await testMemory()
  await mkdir(dirname(other.paths.root), { recursive: true })
  await writeFile(other.paths.root, 'a file')
  await expect(other.store.save({ key: 'x', content: 'c' })).rejects.toMatchObject({
    code: 'UNSAFE_PATH',
    path: other.paths.root,
    message: expect.stringMatching(/is not a directory/u) as string,
  })
})

test('of several directories that cannot be looked at the outermost is named, whichever answers first', async () => {
  const { memory, watched } = await watchedMemory()
  const projects = dirname(dirname(memory.paths.root))
  await mkdir(dirname(dirname(projects)), { recursive: true })
  await writeFile(dirname(projects), 'no folder')
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  watched.before = async ({ path, name }) => {
    if (name !== 'lstat' || path !== projects) return
    for (let turns = 0; turns < 50; turns += 1) await turn()
  }
  for (let call = 0; call < 2; call += 1) {
    const failure = memory.store.save({ key: 'x', content: 'c' })
    await expect(failure).rejects.toThrow(`${projects} cannot be written (ENOTDIR)`)
  }
})
