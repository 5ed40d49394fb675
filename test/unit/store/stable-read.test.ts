import { execFileSync } from 'node:child_process'
import { chmod, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readIndexSync } from '../../../src/store/stable-read-sync.ts'
import {
  MEMORY_READ_MAX_BYTES,
  readMemoryFileStable,
  readStableBytes,
} from '../../../src/store/stable-read.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { givenFiles, testMemory } from '../../support/test-memory.ts'
import type { TestMemory } from '../../support/test-memory.ts'

/** What a reader says of the index: its text, that it is absent, or why it cannot be read. */
type Said = { text: string } | 'absent' | { reason: string }

/** The two readers, behind one face; every rule holds for both. */
const READERS: [string, (memory: TestMemory) => Promise<Said>][] = [
  [
    'the awaited reader',
    async ({ paths }) => {
      try {
        const { content, exists } = await readMemoryFileStable(paths.indexFilePath)
        return exists ? { text: content } : 'absent'
      } catch (error) {
        return { reason: (error as Error).message }
      }
    },
  ],
  [
    'the synchronous reader',
    async ({ paths }) => {
      const reading = readIndexSync(paths)
      if (reading.kind === 'text') return { text: reading.text }
      return reading.kind === 'absent' ? 'absent' : { reason: reading.reason }
    },
  ],
]

for (const [name, read] of READERS) {
  test(`${name} gives the text as it is on the disk, BOM and CRLF included`, async () => {
    const memory = await testMemory()
    const text = '\ufeff- [A](a.md) — ü\r\n\r\n部署 🚀'
    await givenFiles(memory, { 'MEMORY.md': text })
    expect(await read(memory)).toEqual({ text })
    await givenFiles(memory, { 'MEMORY.md': '' })
    expect(await read(memory)).toEqual({ text: '' })
  })

  test(`${name} says absent only when there is no file`, async () => {
    const memory = await testMemory()
    expect(await read(memory)).toBe('absent')
    await givenFiles(memory, {})
    expect(await read(memory)).toBe('absent')
  })

  test(`${name} does not follow a link, not even to a good file`, async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'real.md': 'secret' })
    await symlink(join(memory.paths.root, 'real.md'), memory.paths.indexFilePath)
    expect(await read(memory)).toEqual({
      reason: expect.stringMatching(/MEMORY\.md is a symbolic link/u),
    })
  })

  test(`${name} refuses what is no regular file and does not wait for a FIFO's writer`, async () => {
    const memory = await testMemory()
    const { indexFilePath } = memory.paths
    await mkdir(indexFilePath, { recursive: true })
    expect(await read(memory)).toEqual({ reason: expect.stringMatching(/is not a regular file/u) })
    await rm(indexFilePath, { recursive: true })
    execFileSync('mkfifo', [indexFilePath])
    expect(await read(memory)).toEqual({ reason: expect.stringMatching(/is not a regular file/u) })
    await rm(indexFilePath)
    const server = createServer().listen(indexFilePath)
    onTestFinished(() => void server.close())
    await vi.waitFor(async () =>
      expect(await read(memory)).toEqual({
        reason: expect.stringMatching(/is not a regular file/u),
      }),
    )
  })

  test(`${name} reads up to the limit and not a byte more`, async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'MEMORY.md': 'x'.repeat(MEMORY_READ_MAX_BYTES) })
    expect(await read(memory)).toMatchObject({ text: expect.any(String) as string })
    await truncate(memory.paths.indexFilePath, MEMORY_READ_MAX_BYTES + 1)
    expect(await read(memory)).toEqual({
      reason: expect.stringMatching(/5242881 bytes, more than the 5242880/u),
    })
  })

  test(`${name} refuses bytes that are no UTF-8 text instead of replacing them`, async () => {
    const memory = await testMemory()
    const inUtf16 = Buffer.from('\ufeff- [A](a.md) — x', 'utf16le')
    const inGbk = Buffer.from([0x2d, 0x20, 0xb2, 0xbf, 0xca, 0xf0, 0x0a])
    for (const bytes of [inUtf16, inGbk, Buffer.from('- [A](a.md)\0\n')]) {
      await givenFiles(memory, { 'MEMORY.md': bytes })
      expect(await read(memory)).toEqual({ reason: expect.stringMatching(/is not UTF-8 text/u) })
    }
  })

  test(`${name} reads a file whatever others named like it lie beside it`, async () => {
    const memory = await testMemory()
    await givenFiles(memory, {
      'MEMORY.md': 'the index',
      'MEMORY (conflicted copy 2026-10-01).md': 'a copy',
      'memory.md': 'made by hand',
      '._MEMORY.md': 'resource fork',
      '.MEMORY.md.tmp-0123456789abcdef01234567': 'half',
    })
    expect(await read(memory)).toEqual({ text: 'the index' })
  })
}

test('a file that is replaced while it is read gives the version that was opened', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'old text' })
  const path = join(memory.paths.root, 'a.md')
  for (const moment of ['handle.stat', 'handle.read']) {
    const watched = watchFileSystem()
    watched.before = async ({ name }) => {
      if (name !== moment) return
      watched.before = () => {}
      await writeFile(`${path}.new`, 'new text, longer')
      await rename(`${path}.new`, path)
    }
    const read = await readStableBytes(path, { fileSystem: watched.fileSystem })
    expect(read?.bytes.toString()).toBe('old text')
    expect(watched.calls.filter(({ name }) => name === 'open')).toHaveLength(1)
    await writeFile(path, 'old text')
  }
})

test('a file that is replaced between looking and opening gives the new version', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'old text' })
  const path = join(memory.paths.root, 'a.md')
  const watched = watchFileSystem(async ({ name }) => {
    if (name !== 'open') return
    await writeFile(`${path}.new`, 'new text, longer')
    await rename(`${path}.new`, path)
  })
  const read = await readStableBytes(path, { fileSystem: watched.fileSystem })
  expect(read?.bytes.toString()).toBe('new text, longer')
})

test('a link or a FIFO that takes the place of the file after the look is not read', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'secret.md': 'secret' })
  const path = join(memory.paths.root, 'a.md')
  const plants: [() => Promise<void>, string][] = [
    [() => symlink('secret.md', path), 'UNSAFE_PATH'],
    [async () => void execFileSync('mkfifo', [path]), 'NOT_REGULAR_FILE'],
  ]
  for (const [plant, code] of plants) {
    await rm(path, { force: true })
    await writeFile(path, 'harmless')
    const watched = watchFileSystem(async ({ name }) => {
      if (name !== 'open') return
      await rm(path)
      await plant()
    })
    const reading = readStableBytes(path, { fileSystem: watched.fileSystem })
    await expect(reading).rejects.toMatchObject({ code })
  }
})

test('a file that is written in place while it is read is tried again, also when its size stays', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'one' })
  const path = join(memory.paths.root, 'a.md')
  const watched = watchFileSystem(async ({ name, position }) => {
    const isAfterRead = watched.calls[position - 2]?.name === 'handle.read'
    if (name === 'handle.stat' && isAfterRead && position < 6) await writeFile(path, 'two')
  })
  const read = await readStableBytes(path, { fileSystem: watched.fileSystem })
  expect(read?.bytes.toString()).toBe('two')
})

test('a file that never stands still is an error, not a mixture and not an endless loop', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'x' })
  const path = join(memory.paths.root, 'a.md')
  let size = 1
  const watched = watchFileSystem(async ({ name }) => {
    if (name === 'handle.read') await writeFile(path, 'x'.repeat((size += 1)))
  })
  const reading = readStableBytes(path, { fileSystem: watched.fileSystem })
  await expect(reading).rejects.toMatchObject({ code: 'FILE_CHANGED', path })
})

test('a file that is removed while it is opened is absent', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'x' })
  const path = join(memory.paths.root, 'a.md')
  const watched = watchFileSystem(async ({ name }) => {
    if (name === 'open') await rm(path, { force: true })
  })
  expect(await readStableBytes(path, { fileSystem: watched.fileSystem })).toBeUndefined()
})

test('a read that the system refuses names path and errno', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'x' })
  const path = join(memory.paths.root, 'a.md')
  for (const errno of ['EIO', 'EACCES', 'EMFILE']) {
    for (const call of ['lstat', 'open', 'handle.stat', 'handle.read']) {
      const { fileSystem } = watchFileSystem(failMatching(({ name }) => name === call, errno))
      await expect(readStableBytes(path, { fileSystem })).rejects.toMatchObject({
        code: 'READ_FAILED',
        errno,
        path,
        message: `${path} cannot be read (${errno}); check its permissions and the disk`,
      })
    }
  }
})

test.skipIf(process.getuid?.() === 0)(
  'a file without read permission cannot be read (not as root: it may read everything)',
  async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'a.md': 'x' })
    const path = join(memory.paths.root, 'a.md')
    await chmod(path, 0o000)
    await expect(readMemoryFileStable(path)).rejects.toMatchObject({ errno: 'EACCES' })
  },
)

test('an aborted read rejects with an AbortError', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'x' })
  const reading = readMemoryFileStable(join(memory.paths.root, 'a.md'), AbortSignal.abort('enough'))
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
})

test('modification time and mode come with the bytes', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'a.md': 'x' })
  const path = join(memory.paths.root, 'a.md')
  await chmod(path, 0o640)
  await utimes(path, 1_700_000_000, 1_700_000_000.25)
  expect(await readStableBytes(path)).toMatchObject({ mtimeMs: 1_700_000_000_250, mode: 0o640 })
  expect(await readMemoryFileStable(path)).toEqual({
    content: 'x',
    exists: true,
    mtimeMs: 1_700_000_000_250,
  })
  expect(await readMemoryFileStable(`${path}.none`)).toEqual({
    content: '',
    exists: false,
    mtimeMs: 0,
  })
})

test('the synchronous reader does not look through a link at any level from projects down', async () => {
  const victim = await testMemory()
  await givenFiles(victim, { 'MEMORY.md': 'of another' })
  const { root } = victim.paths
  for (const level of [root, join(root, '..'), join(root, '../..')]) {
    await rename(level, `${level}-moved`)
    await symlink(`${level}-moved`, level)
    expect(readIndexSync(victim.paths)).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringMatching(/not a real directory/u) as string,
    })
    await rm(level)
    await rename(`${level}-moved`, level)
  }
  expect(readIndexSync(victim.paths)).toMatchObject({ kind: 'text', text: 'of another' })
})
