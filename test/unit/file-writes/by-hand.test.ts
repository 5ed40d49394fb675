/** Refused calls that change memory files. */
import { mkdir, readFile, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  INDEX,
  REFUSED_RUN,
  STAMP,
  byHandWorld as world,
  header,
} from '../../support/by-hand-world.ts'
import { HostError } from '../../support/disk-host.ts'
import {
  anotherStore,
  fileOf,
  givenFiles,
  indexOf,
  litterOf,
  memoryFilesOf,
} from '../../support/test-memory.ts'

describe('a write', () => {
  test('makes a stamped file that counts as read', async () => {
    const memory = await world()
    const { at, host, write } = memory
    expect(await write('b.md', header())).toEqual({
      isError: false,
      content: [],
      value: {
        path: at('b.md'),
        operation: 'create',
        before: null,
        after: header(...STAMP),
      },
    })
    expect(await fileOf(memory, 'b.md')).toBe(header(...STAMP))
    expect(host.asked).toEqual(['project memory: write b.md'])
    expect(host.modes).toEqual(['danger-full-access'])
    const { version } = (await host.fs.stat(await host.fs.resolve(at('b.md')))) ?? {}
    expect(host.observation(at('b.md'))).toEqual({ kind: 'present', version })
    expect(await litterOf(memory)).toEqual([])
  })

  test('makes the directory when it is the first memory', async () => {
    const memory = await world({})
    const { write } = memory
    expect(await write('b.md', 'B\n')).toMatchObject({ isError: false })
    expect(await memoryFilesOf(memory)).toEqual(['b.md'])
  })

  test('replaces only a file that was read, with the hint of the host', async () => {
    const memory = await world()
    const { at, host, write } = memory
    expect(await write('a.md', 'new\n')).toEqual({
      isError: true,
      error: {
        message: 'cannot overwrite — read the file, then retry',
        info: { name: 'FsError', code: 'FS_NOT_OBSERVED' },
      },
      content: [{ type: 'text', text: 'Error: cannot overwrite — read the file, then retry' }],
    })
    expect(await fileOf(memory, 'a.md')).toBe('A\n')
    await host.read(at('a.md'))
    expect(await write('a.md', 'new\n')).toMatchObject({ value: { operation: 'update' } })
    expect(await fileOf(memory, 'a.md')).toBe('new\n')
  })

  test('of the index is left without a stamp', async () => {
    const memory = await world()
    const { at, host, write } = memory
    await host.read(at('MEMORY.md'))
    await write('MEMORY.md', header())
    expect(await indexOf(memory)).toBe(header())
  })

  test('is refused when the path became a link while the question was open', async () => {
    const { at, home, host, write } = await world()
    const outside = join(home, 'outside.md')
    await writeFile(outside, 'outside\n')
    host.ask = async () => {
      await rename(at('a.md'), at('gone.md'))
      await symlink(outside, at('a.md'))
      return 'allowed-once'
    }
    expect(await write('a.md', 'new\n')).toMatchObject({ error: { info: { code: 'UNSAFE_PATH' } } })
    expect(await readFile(outside, 'utf8')).toBe('outside\n')
  })

  test('is refused when the host means another file', async () => {
    const memory = await world()
    const { host, write } = memory
    host.fs.processPath = () => '/elsewhere/b.md'
    expect(await write('b.md', 'B')).toMatchObject({ error: { info: { code: 'UNSAFE_PATH' } } })
    expect(await memoryFilesOf(memory)).toEqual(['a.md'])
  })

  test('waits for the lock of another process', async () => {
    const memory = await world()
    const { host, write } = memory
    const order: string[] = []
    const other = anotherStore(memory).exclusively(async () => {
      await new Promise(setImmediate)
      order.push('other')
    })
    host.beforeWrite = () => void order.push('write')
    await Promise.all([other, write('b.md', 'B\n')])
    expect(order).toEqual(['other', 'write'])
  })
})

describe('an edit', () => {
  test('is stamped by a second write, and the last version counts as read', async () => {
    const memory = await world({ 'b.md': header() })
    const { at, edit, host } = memory
    await host.read(at('b.md'))
    expect(await edit('b.md', 'B\n', 'C\n')).toEqual({
      isError: false,
      content: [],
      value: {
        path: at('b.md'),
        before: header(),
        after: header(...STAMP).replace('B\n', 'C\n'),
      },
    })
    expect(await fileOf(memory, 'b.md')).toBe(header(...STAMP).replace('B\n', 'C\n'))
    expect(await edit('b.md', 'C\n', 'D\n')).toMatchObject({ isError: false })
    expect(host.modes).toEqual(Array.from({ length: 3 }, () => 'danger-full-access'))
  })

  test('stands without the stamp when that cannot be written', async () => {
    const memory = await world({ 'b.md': header() })
    const { at, edit, host } = memory
    await host.read(at('b.md'))
    host.beforeWrite = (text) => {
      if (text.includes('originSessionId')) throw new HostError('disk full', 'ENOSPC')
    }
    expect(await edit('b.md', 'B\n', 'C\n')).toMatchObject({
      value: { after: header().replace('B\n', 'C\n') },
    })
    expect(await fileOf(memory, 'b.md')).toBe(header().replace('B\n', 'C\n'))
    expect(await edit('b.md', 'C\n', 'D\n')).toMatchObject({ isError: false })
  })

  test('of the index changes that alone', async () => {
    const memory = await world()
    const { at, edit, host } = memory
    await host.read(at('MEMORY.md'))
    expect(await edit('MEMORY.md', 'first', 'second')).toMatchObject({ isError: false })
    expect(await indexOf(memory)).toBe('- [A](a.md) — second\n')
  })

  test('of a file that changed since is stale', async () => {
    const memory = await world()
    const { at, edit, host } = memory
    await host.read(at('a.md'))
    await givenFiles(memory, { 'a.md': 'A, by another program\n' })
    expect(await edit('a.md', 'A', 'B')).toMatchObject({
      error: {
        message: 'file changed since it was read — re-read the file, then retry',
        info: { code: 'FS_STALE_VERSION' },
      },
    })
  })

  test('of a file that was not read is an error of the host', async () => {
    const { edit } = await world()
    expect(await edit('a.md', 'A', 'B')).toMatchObject({
      error: { info: { name: 'FsError', code: 'FS_NOT_OBSERVED' } },
    })
  })
})

describe('an rm', () => {
  test('moves the file to the trash, leaves the index, and looks as if it had worked', async () => {
    const memory = await world()
    const { at, host, run, store } = memory
    await host.read(at('a.md'))
    const result = await run(`rm ${at('a.md')}`)
    expect(result).toEqual({
      isError: false,
      content: [],
      value: {
        ...(REFUSED_RUN.value as object),
        exitCode: 0,
        stderr: { text: '', truncated: false },
        sandbox: { mode: 'workspace-write', denied: false, enforcement: 'kernel' },
      },
    })
    expect(await memoryFilesOf(memory)).toEqual([])
    expect(await indexOf(memory)).toBe(INDEX)
    expect(await store.listTrash()).toMatchObject([
      { record: { fileName: 'a.md', indexLine: INDEX, sessionId: 's1' } },
    ])
    expect(host.observation(at('a.md'))).toEqual({ kind: 'absent' })
    expect(host.asked).toEqual(['project memory: remove a.md'])
  })

  test('takes several files, missing ones only with -f', async () => {
    const memory = await world({ 'a.md': 'A', 'b.md': 'B' })
    const { at, run } = memory
    const command = `${at('a.md')} ${at('b.md')} ${at('c.md')}`
    expect(await run(`rm ${command}`)).toBeUndefined()
    expect(await run(`rm -f ${command}`)).toMatchObject({ value: { exitCode: 0 } })
    expect(await memoryFilesOf(memory)).toEqual([])
    expect(await run(`rm -f ${command}`)).toBeUndefined()
  })

  test('that fails reads like rm', async () => {
    const memory = await world()
    const { at, home, run } = memory
    await mkdir(join(home, 'elsewhere'))
    await symlink(join(home, 'elsewhere'), at('.trash'))
    expect(await run(`rm ${at('a.md')}`)).toMatchObject({
      isError: false,
      value: {
        exitCode: 1,
        stderr: { text: expect.stringMatching(/^rm: cannot remove '.*a\.md': .*\.trash.*\n$/u) },
        sandbox: { denied: false },
      },
    })
    expect(await memoryFilesOf(memory)).toEqual(['a.md'])
    expect(await readdir(join(home, 'elsewhere'))).toEqual([])
  })

  test.each([
    ['of the index', 'MEMORY.md'],
    ['of the trash', '.trash/x.md'],
  ])('%s stays refused', async (_what, name) => {
    const { at, host, run } = await world()
    expect(await run(`rm ${at(name)}`)).toBeUndefined()
    expect(host.asked).toEqual([])
  })

  test('with one path elsewhere removes nothing', async () => {
    const memory = await world()
    const { at, home, run } = memory
    await writeFile(join(home, 'x.md'), '')
    expect(await run(`rm ${at('a.md')} ${join(home, 'x.md')}`)).toBeUndefined()
    expect(await memoryFilesOf(memory)).toEqual(['a.md'])
  })
})
