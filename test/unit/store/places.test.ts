import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { directoryExists, memoryAbove, writeExportFile } from '../../../src/store/places.ts'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { temporaryDirectory } from '../../support/temp-directory.ts'

describe('the file of an export', () => {
  test('is new, for its owner alone, and whole', async () => {
    const path = join(await temporaryDirectory(), 'all.md')
    await writeExportFile(path, 'text', false)
    expect(await readFile(path, 'utf8')).toBe('text')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('replaces nothing unless it may: no file, no link', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'all.md')
    await writeFile(path, 'mine')
    await symlink(path, join(directory, 'link.md'))
    for (const name of ['all.md', 'link.md']) {
      await expect(writeExportFile(join(directory, name), 'text', false)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('--force'),
      })
    }
    expect(await readFile(path, 'utf8')).toBe('mine')
    await writeExportFile(path, 'text', true)
    expect(await readFile(path, 'utf8')).toBe('text')
  })

  test('leaves nothing behind when it cannot be written', async () => {
    const directory = await temporaryDirectory()
    const path = join(directory, 'all.md')
    for (const failing of ['open', 'handle.writev', 'handle.sync', 'publish']) {
      const { fileSystem } = watchFileSystem(
        failMatching(
          ({ name, to }) => (failing === 'publish' ? to === path : name === failing),
          'ENOSPC',
        ),
      )
      await expect(writeExportFile(path, 'text', false, fileSystem)).rejects.toMatchObject({
        code: 'WRITE_FAILED',
        errno: 'ENOSPC',
      })
      expect(await readdir(directory)).toEqual([])
    }
    const isDirectoryFlush = (call: { name: string; path: string }): boolean =>
      call.name === 'handle.sync' && call.path === directory
    const { fileSystem } = watchFileSystem(failMatching(isDirectoryFlush, 'EIO'))
    await expect(writeExportFile(path, 'text', false, fileSystem)).rejects.toMatchObject({
      errno: 'EIO',
    })
    expect(await readdir(directory)).toEqual([])
    await expect(writeExportFile(join(directory, 'no', 'x'), 'text', false)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/no is no directory; make it first$/u),
    })
  })
})

describe('directories', () => {
  test('are there when they are, also behind a link, and files are none', async () => {
    const directory = await temporaryDirectory()
    await symlink(directory, join(directory, 'link'))
    await writeFile(join(directory, 'file'), '')
    expect(await directoryExists(directory)).toBe(true)
    expect(await directoryExists(join(directory, 'link'))).toBe(true)
    expect(await directoryExists(join(directory, 'file'))).toBe(false)
    expect(await directoryExists(join(directory, 'none'))).toBe(false)
  })

  test('above a path are looked through for the nearest memory', async () => {
    const home = await temporaryDirectory()
    const env = { DSH_HOME: join(home, 'dsh') }
    const inner = join(home, 'a', 'b', 'c')
    expect(await memoryAbove(inner, env)).toBeUndefined()
    for (const name of ['a', 'a/b', 'a/b/c']) {
      await mkdir(resolveProjectMemoryPaths(join(home, name), env).root, { recursive: true })
    }
    expect(await memoryAbove(inner, env)).toBe(join(home, 'a', 'b'))
  })
})
