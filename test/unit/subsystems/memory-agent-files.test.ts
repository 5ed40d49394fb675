import { execFileSync } from 'node:child_process'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  isContainedInDshHome,
  readMemoryFileSync,
  sanitizeProjectSlug,
} from '../../../src/subsystems/memory-agent/index.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

describe('reading one memory file', () => {
  it('gives the text as it is, with its time', async () => {
    const path = join(await temporaryDirectory(), 'a.md')
    await writeFile(path, '\uFEFFgrün\r\n')
    const { mtimeMs, ...read } = readMemoryFileSync(path)
    expect(read).toEqual({ content: '\uFEFFgrün\r\n', exists: true })
    expect(mtimeMs).toBeGreaterThan(0)
  })

  it('tells absence from everything that cannot be read', async () => {
    const base = await temporaryDirectory()
    expect(readMemoryFileSync(join(base, 'none.md'))).toEqual({
      content: '',
      exists: false,
      mtimeMs: 0,
    })
    await symlink('/etc/hostname', join(base, 'link.md'))
    await mkdir(join(base, 'folder.md'))
    execFileSync('mkfifo', [join(base, 'fifo.md')])
    await writeFile(join(base, 'bytes.md'), Buffer.from([0xff, 0xfe]))
    await writeFile(join(base, 'big.md'), '')
    await truncate(join(base, 'big.md'), 5 * 1024 * 1024 + 1)
    await writeFile(join(base, 'limit.md'), 'a'.repeat(5 * 1024 * 1024))
    const codes = { link: 'NOT_REGULAR_FILE', folder: 'NOT_REGULAR_FILE', fifo: 'NOT_REGULAR_FILE' }
    for (const [name, code] of Object.entries({
      ...codes,
      bytes: 'NOT_UTF8',
      big: 'FILE_TOO_LARGE',
      'bytes.md/x': 'ENOTDIR',
    })) {
      expect(() => readMemoryFileSync(join(base, `${name}.md`))).toThrow(
        expect.objectContaining({ code }),
      )
    }
    expect(readMemoryFileSync(join(base, 'limit.md')).content).toHaveLength(5 * 1024 * 1024)
  })
})

describe('the name of a project directory', () => {
  it('is lower-case, dashed, at most 48 characters and never empty', () => {
    const long = 'a'.repeat(47)
    for (const [name, slug] of [
      ['project', 'project'],
      ['My Project!', 'my-project'],
      ['项目', 'project'],
      ['', 'project'],
      ['...', '...'],
      ['-_-', '_'],
      [`${long} b`, `${long}-`],
    ] as const) {
      expect(sanitizeProjectSlug(name)).toBe(slug)
    }
  })
})

describe('containment in the home of the harness', () => {
  it('follows links and knows how the environment names the home', async () => {
    const base = await temporaryDirectory()
    await mkdir(join(base, 'home'))
    await symlink('home', join(base, 'link'))
    await symlink('/etc', join(base, 'home/out'))
    const home = join(base, 'link')
    expect(isContainedInDshHome(join(base, 'home/x.md'), home)).toBe(true)
    expect(isContainedInDshHome(join(base, 'link/x.md'), { DSH_HOME: join(base, 'home') })).toBe(
      true,
    )
    expect(isContainedInDshHome(home, home)).toBe(false)
    expect(isContainedInDshHome(join(home, 'out/x.md'), home)).toBe(false)
    expect(isContainedInDshHome(join(home, '../x.md'), home)).toBe(false)
    expect(isContainedInDshHome(join(homedir(), '.dsh/x'), { DSH_HOME: '  ' })).toBe(true)
    expect(isContainedInDshHome(join(homedir(), '.dsh/x'), {})).toBe(true)
    expect(isContainedInDshHome(join(homedir(), 'my/x'), { DSH_HOME: '~/my' })).toBe(true)
    expect(isContainedInDshHome(join(homedir(), 'x'), { DSH_HOME: '~' })).toBe(true)
    expect(typeof isContainedInDshHome('/x')).toBe('boolean')
  })
})
