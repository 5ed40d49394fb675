import { mkdir, readdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readMemoryFileStable } from '../../../src/store/stable-read.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import {
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  testMemory,
} from '../../support/test-memory.ts'
import type { TestMemory } from '../../support/test-memory.ts'

test('a saved memory comes back: file, header, index line and listing', async () => {
  const memory = await testMemory()
  const saved = await memory.store.save({
    key: 'Auth token refresh gotcha',
    content: 'Returns 401.\n\n**Why:** history.',
    type: 'feedback',
    description: 'Expired tokens return 401, not 403.',
    originSessionId: 'session-1',
  })
  const filePath = join(memory.paths.root, 'auth-token-refresh-gotcha.md')
  const { content } = await readMemoryFileStable(filePath)
  expect(saved).toEqual({
    fileName: 'auth-token-refresh-gotcha.md',
    filePath,
    bytes: Buffer.byteLength(content),
    replaced: false,
  })
  expect(content).toBe(
    [
      '---',
      'name: "auth-token-refresh-gotcha"',
      'description: "Expired tokens return 401, not 403."',
      'metadata:',
      '  type: feedback',
      '  node_type: memory',
      '  title: "Auth token refresh gotcha"',
      '  originSessionId: "session-1"',
      '---',
      '',
      'Returns 401.',
      '',
      '**Why:** history.',
      '',
    ].join('\n'),
  )
  expect(await memory.store.readIndex()).toEqual({
    exists: true,
    content:
      '- [Auth token refresh gotcha](auth-token-refresh-gotcha.md) — Expired tokens return 401, not 403.\n',
  })
  expect(await memory.store.listEntries()).toEqual([
    {
      fileName: 'auth-token-refresh-gotcha.md',
      description: 'Expired tokens return 401, not 403.',
      type: 'feedback',
    },
  ])
})

test('copies, temp files and hidden files of other programs are left alone and not listed', async () => {
  const memory = await testMemory()
  const strangers = {
    '.MEMORY.md.tmp-1234': 'x',
    'build.md.tmp': 'x',
    'MEMORY.md.lock': 'x',
    '._build.md': 'x',
    '.DS_Store': 'x',
    '.build.md.tmp-0123456789abcdef01234567': 'x',
  }
  const copies = {
    'MEMORY (conflicted copy 2026-10-01).md': '- [Copy](copy.md)\n',
    'build.sync-conflict-20261001.md': 'a copy',
  }
  await givenFiles(memory, { ...strangers, ...copies })
  await memory.store.save({ key: 'build', content: 'c', description: 'd' })
  expect((await memory.store.listEntries()).map(({ fileName }) => fileName)).toEqual([
    'MEMORY (conflicted copy 2026-10-01).md',
    'build.md',
    'build.sync-conflict-20261001.md',
  ])
  expect(Object.keys(await snapshotOf(memory)).sort()).toEqual(
    [...Object.keys(strangers), ...Object.keys(copies), 'MEMORY.md', 'build.md'].sort(),
  )
  expect(await memory.store.readIndex()).toMatchObject({ content: '- [build](build.md) — d\n' })
})

test('reading makes nothing: no directory, no index, no lock', async () => {
  const memory = await testMemory()
  expect(await memory.store.readIndex()).toEqual({ content: '', exists: false })
  expect(await memory.store.listEntries()).toEqual([])
  expect(await readdir(memory.home)).toEqual([])
})

test('a file that cannot be read is listed without description, and hides no other', async () => {
  const isBad = ({ name, path }: { name: string; path: string }): boolean =>
    name === 'open' && path.endsWith('/bad.md')
  const { fileSystem } = watchFileSystem(failMatching(isBad, 'EACCES'))
  const memory = await testMemory({ fileSystem })
  await memory.store.save({ key: 'good', content: 'c', description: 'd' })
  await givenFiles(memory, { 'bad.md': 'x' })
  await mkdir(join(memory.paths.root, 'folder.md'))
  expect(await memory.store.listEntries()).toEqual([
    { fileName: 'bad.md' },
    { fileName: 'good.md', description: 'd', type: 'project' },
  ])
})

test('a lock that cannot be removed after the commit does not make the save a failure', async () => {
  for (const errno of ['EPERM', 'EBUSY']) {
    const { fileSystem } = watchFileSystem(failMatching(({ name }) => name === 'rmdir', errno))
    const memory = await testMemory({ fileSystem })
    const saved = await memory.store.save({ key: 'x', content: 'c', description: 'd' })
    expect(JSON.parse(JSON.stringify(saved))).toEqual(saved)
    expect(Object.values(saved)).not.toContain(undefined)
    expect(await linesOf(memory)).toEqual(['- [x](x.md) — d'])
    expect(await litterOf(memory)).toEqual(['memory.lock'])
  }
})

test('a second save with the same key on a fresh store tells that it replaced', async () => {
  const memory = await testMemory()
  await memory.store.save({ key: 'x', content: 'one' })
  const again = new ProjectMemoryStore(memory.paths)
  expect(await again.save({ key: 'X.md', content: 'two' })).toMatchObject({
    fileName: 'x.md',
    replaced: true,
  })
  expect(await memoryFilesOf(memory)).toEqual(['x.md'])
})

test('an aborted signal rejects with an AbortError and nothing is made', async () => {
  const memory = await testMemory()
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(memory.store.save({ key: 'x', content: 'c', signal })).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(await readdir(memory.home)).toEqual([])
  await memory.store.save({ key: 'x', content: 'c' })
  await expect(memory.store.readIndex(signal)).rejects.toMatchObject({ name: 'AbortError' })
})

const REFUSALS: [string, string, (memory: TestMemory) => Promise<unknown>][] = [
  [
    'an index that is a directory',
    'NOT_REGULAR_FILE',
    ({ paths }) => mkdir(paths.indexFilePath, { recursive: true }),
  ],
  [
    'a memory directory that is a link',
    'UNSAFE_PATH',
    async ({ home, paths }) => {
      await mkdir(dirname(paths.root), { recursive: true })
      await symlink(home, paths.root)
    },
  ],
  [
    'a lock that another holds',
    'LOCK_TIMEOUT',
    ({ lockPath }) => mkdir(lockPath, { recursive: true }),
  ],
  ['a home that is read-only', 'WRITE_FAILED', async () => {}],
]

for (const [what, code, make] of REFUSALS) {
  test(`${what} refuses a save twice in the same words: one line, a path, no content`, async () => {
    const isReadOnly = code === 'WRITE_FAILED'
    const { fileSystem } = watchFileSystem(
      failMatching(({ name }) => isReadOnly && name === 'mkdir', 'EROFS'),
    )
    const lockTimes = { heartbeatMs: 60_000, staleMs: 60_000, waitMs: 20 }
    const memory = await testMemory({ fileSystem, lockTimes })
    await make(memory)
    const messages: string[] = []
    for (let time = 0; time < 2; time += 1) {
      const error = await memory.store
        .save({ key: 'secret key', content: 'secret body' })
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ name: 'MemoryError', code })
      messages.push((error as Error).message)
    }
    expect(messages[0]).toBe(messages[1])
    expect(messages[0]).toContain(memory.home)
    expect(messages[0]).not.toMatch(/\n|secret| at /u)
  })
}

test('paths and a memory of another shape are refused, naming what is meant', async () => {
  for (const paths of [undefined, null, '/work/app', {}]) {
    expect(() => new ProjectMemoryStore(paths as never)).toThrow('resolveProjectMemoryPaths')
  }
  const { store } = await testMemory()
  for (const input of [undefined, null, 'text']) {
    await expect(store.save(input as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'a save needs an object with key and content',
    })
  }
})
