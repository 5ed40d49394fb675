import {
  chmod,
  lstat,
  mkdir,
  readFile,
  readdir,
  readlink,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SymlinkWriteRefusedError } from '../../../src/errors.ts'
import { publishFile, stageFile, writeFileAtomic } from '../../../src/store/atomic-write.ts'
import { localFileSystem } from '../../../src/store/file-system.ts'
import { isTemporaryName, temporaryPathOf } from '../../../src/store/temporary-name.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import type { FileSystemCall } from '../../support/faulty-file-system.mjs'
import { temporaryDirectory } from '../../support/temp-directory.ts'

const isRename = ({ name }: FileSystemCall): boolean => name === 'rename'

async function target(content?: string): Promise<{ directory: string; path: string }> {
  const directory = await temporaryDirectory()
  const path = join(directory, 'a.md')
  if (content !== undefined) await writeFile(path, content)
  return { directory, path }
}

async function modeOf(path: string): Promise<number> {
  return (await lstat(path)).mode & 0o777
}

test('a new file is readable by its owner alone, whatever the umask', async () => {
  const { path } = await target()
  const before = process.umask(0)
  try {
    await writeFileAtomic(path, 'text')
  } finally {
    process.umask(before)
  }
  expect(await readFile(path, 'utf8')).toBe('text')
  expect(await modeOf(path)).toBe(0o600)
})

test('a replaced file keeps its mode, also a read-only one', async () => {
  const { path } = await target('old')
  for (const mode of [0o640, 0o444, 0o600, 0o666]) {
    await chmod(path, mode)
    await writeFileAtomic(path, `mode ${mode}`)
    expect(await readFile(path, 'utf8')).toBe(`mode ${mode}`)
    expect(await modeOf(path)).toBe(mode)
  }
})

test('data is flushed before the rename, and the directory after it', async () => {
  const { directory, path } = await target('old')
  const watched = watchFileSystem()
  await writeFileAtomic(path, 'new', undefined, watched.fileSystem)
  const order = watched.calls.map(({ name, path: at }) =>
    at === directory ? `${name} of the directory` : name,
  )
  const steps = [
    'handle.writev',
    'handle.sync',
    'handle.close',
    'rename',
    'handle.sync of the directory',
  ]
  expect(order.filter((step) => steps.includes(step))).toEqual(steps)
})

test('the old file is never written to: readers keep the version they opened', async () => {
  const { path } = await target('old')
  const { ino } = await lstat(path)
  await writeFileAtomic(path, 'new')
  expect((await lstat(path)).ino).not.toBe(ino)
})

test('a system that takes only some bytes at a time gets all of them in the end', async () => {
  const { path } = await target('old')
  const open: typeof localFileSystem.open = async (...args) => {
    const handle = await localFileSystem.open(...args)
    const writev = async ([first]: readonly Uint8Array[]) =>
      handle.write(first ?? Buffer.alloc(0), 0, Math.min(3, first?.length ?? 0))
    return Object.assign(handle, { writev })
  }
  const pieces = ['one ', '', 'two and ', 'three'].map((text) => Buffer.from(text))
  const fileSystem = { ...localFileSystem, open }
  await publishFile(await stageFile(path, pieces, { fileSystem }))
  expect(await readFile(path, 'utf8')).toBe('one two and three')
})

test('a link is refused with its own error, and neither link nor target change', async () => {
  const { directory, path } = await target()
  await writeFile(join(directory, 'victim'), 'untouched')
  for (const to of ['victim', 'nowhere']) {
    await symlink(to, path)
    const writing = writeFileAtomic(path, 'new')
    await expect(writing).rejects.toBeInstanceOf(SymlinkWriteRefusedError)
    await expect(writing).rejects.toMatchObject({ code: 'SYMLINK_WRITE_REFUSED', path })
    expect(await readlink(path)).toBe(to)
    expect(await readdir(directory)).toEqual(['a.md', 'victim'])
    await unlink(path)
  }
  expect(await readFile(join(directory, 'victim'), 'utf8')).toBe('untouched')
})

test('a link that is planted while the file is written is replaced, not followed', async () => {
  const { directory, path } = await target()
  await writeFile(join(directory, 'victim'), 'untouched')
  const watched = watchFileSystem(async (call) => {
    if (isRename(call)) await symlink('victim', path)
  })
  await writeFileAtomic(path, 'new', undefined, watched.fileSystem)
  expect((await lstat(path)).isFile()).toBe(true)
  expect(await readFile(join(directory, 'victim'), 'utf8')).toBe('untouched')
})

test('a directory in the place of the file is refused and stays', async () => {
  const { directory, path } = await target()
  await mkdir(join(path, 'inner'), { recursive: true })
  await expect(writeFileAtomic(path, 'new')).rejects.toMatchObject({
    code: 'NOT_REGULAR_FILE',
    path,
  })
  expect(await readdir(directory)).toEqual(['a.md'])
  expect(await readdir(path)).toEqual(['inner'])
})

for (const errno of ['EPERM', 'EBUSY', 'EACCES']) {
  test(`a rename that is refused with ${errno} three times is tried again`, async () => {
    const { directory, path } = await target('old')
    const { fileSystem, calls } = watchFileSystem(failMatching(isRename, errno, 3))
    await writeFileAtomic(path, 'new', undefined, fileSystem)
    expect(await readFile(path, 'utf8')).toBe('new')
    expect(calls.filter(isRename)).toHaveLength(4)
    expect(await readdir(directory)).toEqual(['a.md'])
  })

  test(`a rename that is always refused with ${errno} fails in the end, the old file intact`, async () => {
    const { directory, path } = await target('old')
    const { fileSystem } = watchFileSystem(failMatching(isRename, errno))
    await expect(writeFileAtomic(path, 'new', undefined, fileSystem)).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      errno,
      path,
    })
    expect(await readFile(path, 'utf8')).toBe('old')
    expect(await readdir(directory)).toEqual(['a.md'])
  })
}

test('a rename that fails for a lasting reason is not tried again', async () => {
  const { directory, path } = await target('old')
  for (const errno of ['EXDEV', 'ENOSPC', 'EIO', 'EROFS']) {
    const { fileSystem, calls } = watchFileSystem(failMatching(isRename, errno))
    await expect(writeFileAtomic(path, 'new', undefined, fileSystem)).rejects.toMatchObject({
      errno,
    })
    expect(calls.filter(isRename)).toHaveLength(1)
  }
  expect(await readFile(path, 'utf8')).toBe('old')
  expect(await readdir(directory)).toEqual(['a.md'])
})

test('a temp name that is taken costs one more try, not the write', async () => {
  const { path } = await target('old')
  const isOpen = ({ name }: FileSystemCall): boolean => name === 'open'
  const { fileSystem } = watchFileSystem(failMatching(isOpen, 'EEXIST', 2))
  await writeFileAtomic(path, 'new', undefined, fileSystem)
  expect(await readFile(path, 'utf8')).toBe('new')
})

test('the temp file lies next to the target, so TMPDIR does not matter', async () => {
  const { directory, path } = await target()
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = '/nonexistent'
  try {
    const watched = watchFileSystem()
    await writeFileAtomic(path, 'new', undefined, watched.fileSystem)
    const [from] = watched.calls.filter(isRename).map((call) => call.path)
    expect(from?.startsWith(`${directory}/.`)).toBe(true)
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
})

test('names as long as the file system allows can be written', async () => {
  const { directory } = await target()
  for (const name of [`${'x'.repeat(252)}.md`, `${'规'.repeat(84)}.md`, `${'🚀'.repeat(63)}.md`]) {
    await writeFileAtomic(join(directory, name), name)
    expect(await readFile(join(directory, name), 'utf8')).toBe(name)
  }
})

test('temp names are hidden, unpredictable, known again, and short', () => {
  const names = ['a.md', '规则.md', 'x'.repeat(300)].flatMap((name) =>
    [temporaryPathOf(`/d/${name}`), temporaryPathOf(`/d/${name}`)].map((path) =>
      path.slice('/d/'.length),
    ),
  )
  expect(new Set(names).size).toBe(6)
  for (const name of names) {
    expect(isTemporaryName(name)).toBe(true)
    expect(name).toMatch(/^\.[\w.-]+\.tmp-[0-9a-f]{24}$/u)
    expect(name.length).toBeLessThan(140)
  }
  for (const name of [
    'a.md',
    '.a.md',
    '.MEMORY.md.tmp-1234',
    'a.md.tmp',
    'x.tmp-0123456789abcdef01234567',
  ]) {
    expect(isTemporaryName(name)).toBe(false)
  }
})

test('an aborted write leaves the old file and no temp file', async () => {
  const { directory, path } = await target('old')
  await expect(writeFileAtomic(path, 'new', AbortSignal.abort())).rejects.toMatchObject({
    name: 'AbortError',
  })
  for (const moment of ['open', 'handle.writev', 'handle.sync', 'handle.close']) {
    const controller = new AbortController()
    const { fileSystem } = watchFileSystem(({ name }) => {
      if (name === moment) controller.abort('not an error')
    })
    const writing = writeFileAtomic(path, 'new', controller.signal, fileSystem)
    await expect(writing).rejects.toMatchObject({ name: 'AbortError' })
  }
  expect(await readFile(path, 'utf8')).toBe('old')
  expect(await readdir(directory)).toEqual(['a.md'])
})

test('a directory that cannot be flushed is reported, its file system permitting', async () => {
  const { path, directory } = await target('old')
  const isDirectorySync = (call: FileSystemCall): boolean =>
    call.name === 'handle.sync' && call.path === directory
  const broken = watchFileSystem(failMatching(isDirectorySync, 'EIO'))
  await expect(writeFileAtomic(path, 'new', undefined, broken.fileSystem)).rejects.toMatchObject({
    errno: 'EIO',
  })
  const unable = watchFileSystem(failMatching(isDirectorySync, 'EINVAL'))
  await writeFileAtomic(path, 'newer', undefined, unable.fileSystem)
  expect(await readFile(path, 'utf8')).toBe('newer')
})

test('the first error is the one that is told', async () => {
  const { path } = await target('old')
  const { fileSystem } = watchFileSystem((call) => {
    failMatching(({ name }) => name === 'handle.sync', 'ENOSPC')(call)
    failMatching(({ name }) => name === 'handle.close' || name === 'unlink', 'EIO')(call)
  })
  await expect(writeFileAtomic(path, 'new', undefined, fileSystem)).rejects.toMatchObject({
    errno: 'ENOSPC',
  })
})
