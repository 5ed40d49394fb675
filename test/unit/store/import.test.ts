import { mkdir, readFile, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { renderMemoryFile } from '../../../src/format/memory-file.ts'
import { importMemories, planImport } from '../../../src/store/import.ts'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { temporaryDirectory } from '../../support/temp-directory.ts'
import { givenFiles, indexOf, litterOf, snapshotOf, testMemory } from '../../support/test-memory.ts'

const TIME = new Date('2030-01-02T03:04:05.000Z')

/** A memory as Claude Code writes it: other frontmatter than ours, CRLF, a session id. */
const FOREIGN =
  '---\r\nname: tide-table\r\ndescription: Where the table is\r\ntype: reference\r\noriginSessionId: s-9\r\n---\r\n\r\nIn the attic.\r\n'

const OWN = renderMemoryFile({
  name: 'rule',
  description: 'A rule',
  type: 'feedback',
  title: 'The Rule',
  body: 'Always.',
  originSessionId: 's-1',
})

async function source(files: Record<string, string | Uint8Array>): Promise<string> {
  const directory = await temporaryDirectory()
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(directory, name), content)
    await utimes(join(directory, name), TIME, TIME)
  }
  return directory
}

const FILES = {
  'MEMORY.md':
    '# Notes\n\n- [Tide table](tide.md) — in the attic, not the cellar\n- [The Rule](rule.md)\n',
  'rule.md': OWN,
  'tide.md': FOREIGN,
  'unlisted.md': 'No header here.\n',
}

function states(items: { fileName: string; state: string }[]): Record<string, string> {
  return Object.fromEntries(items.map(({ fileName, state }) => [fileName, state]))
}

describe('the preview of an import', () => {
  test('says what would become of each file, in the order of the other index, and changes nothing', async () => {
    const memory = await testMemory()
    const items = await planImport(await source(FILES), memory.paths.root)
    expect(items.map(({ fileName, state, title }) => [fileName, title, state])).toEqual([
      ['tide.md', 'Tide table', 'new'],
      ['rule.md', 'The Rule', 'new'],
      ['unlisted.md', 'unlisted', 'new'],
    ])
    await expect(readdir(memory.home)).resolves.toEqual([])
  })

  test('tells what is there already, what differs and what cannot be a memory', async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'rule.md': OWN, 'tide.md': 'mine' })
    const directory = await source({
      ...FILES,
      '-dash.md': 'x',
      'UPPER.MD': 'x',
      'memory.MD': 'x',
      'latin1.md': Buffer.from([0xff]),
      'notes.txt': 'x',
    })
    await mkdir(join(directory, 'folder.md'))
    await symlink('/etc/hostname', join(directory, 'link.md'))
    const items = await planImport(directory, memory.paths.root)
    expect(states(items)).toEqual({
      'rule.md': 'present',
      'tide.md': 'differs',
      'unlisted.md': 'new',
      '-dash.md': 'refused',
      'UPPER.MD': 'refused',
      'latin1.md': 'refused',
      'folder.md': 'refused',
      'link.md': 'refused',
    })
    for (const { reason, state } of items) expect(reason === undefined).toBe(state !== 'refused')
  })
})

describe('an import', () => {
  test('copies bytes and times, and writes an index line for each', async () => {
    const memory = await testMemory()
    const items = await importMemories(await source(FILES), memory.paths)
    expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['new']))
    for (const name of ['rule.md', 'tide.md', 'unlisted.md'] as const) {
      const path = join(memory.paths.root, name)
      expect(await readFile(path, 'utf8')).toBe(FILES[name])
      const { mode, mtimeMs } = await stat(path)
      expect(mtimeMs).toBe(TIME.getTime())
      expect(mode & 0o777).toBe(0o600)
    }
    expect(await indexOf(memory)).toBe(
      [
        '- [Tide table](tide.md) — in the attic, not the cellar',
        '- [The Rule](rule.md) — A rule',
        '- [unlisted](unlisted.md) — No header here.',
        '',
      ].join('\n'),
    )
    expect(await litterOf(memory)).toEqual([])
    expect(await memory.store.examine()).toEqual([])
  })

  test('overwrites nothing, neither a file nor a line, and done twice changes nothing', async () => {
    const memory = await testMemory()
    await givenFiles(memory, {
      'MEMORY.md': '# Mine\n\n- [My tide](tide.md) — mine\n',
      'tide.md': 'mine',
    })
    const directory = await source(FILES)
    const first = await importMemories(directory, memory.paths)
    expect(states(first)).toEqual({ 'tide.md': 'differs', 'rule.md': 'new', 'unlisted.md': 'new' })
    const before = await snapshotOf(memory)
    expect(before['tide.md']).toBe('mine')
    expect(before['MEMORY.md']).toContain(
      '# Mine\n\n- [My tide](tide.md) — mine'.replace('—', Buffer.from('—').toString('latin1')),
    )

    const second = await importMemories(directory, memory.paths)
    expect(states(second)).toEqual({
      'tide.md': 'differs',
      'rule.md': 'present',
      'unlisted.md': 'present',
    })
    expect(await snapshotOf(memory)).toEqual(before)
  })

  test('gives a memory that is there already its missing line', async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'rule.md': OWN })
    await importMemories(await source(FILES), memory.paths)
    expect(await indexOf(memory)).toContain('- [The Rule](rule.md)')
  })

  test('gives no line to a file of other content', async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'tide.md': 'mine' })
    await importMemories(await source(FILES), memory.paths)
    expect(await indexOf(memory)).not.toContain('tide.md')
  })

  test('does not overwrite a file that appears while it runs', async () => {
    const memory = await testMemory()
    const path = join(memory.paths.root, 'tide.md')
    const watched = watchFileSystem(async ({ name, path: temporary }) => {
      const isOfTide = name === 'link' && temporary.includes('tide.md')
      if (isOfTide) await writeFile(path, 'came first')
    })
    const items = await importMemories(await source(FILES), memory.paths, watched.fileSystem)
    expect(await readFile(path, 'utf8')).toBe('came first')
    expect(states(items)).toMatchObject({ 'tide.md': 'differs', 'rule.md': 'new' })
    expect(await indexOf(memory)).not.toContain('tide.md')
    expect(await litterOf(memory)).toEqual([])
  })

  test('lets no line of the other index carry characters that hide', async () => {
    const memory = await testMemory()
    const directory = await source({
      'MEMORY.md': '- [A\u202eB](a.md) — x\u001b[31my\n',
      'a.md': 'text',
    })
    await importMemories(directory, memory.paths)
    expect(await indexOf(memory)).toBe('- [AB](a.md) — x [31my\n')
  })

  test('that cannot write the index takes its copies back', async () => {
    const memory = await testMemory()
    await givenFiles(memory, { 'MEMORY.md': '# Mine\n' })
    const before = await snapshotOf(memory)
    const watched = watchFileSystem(
      failMatching(
        ({ name, to }) => name === 'rename' && to === memory.paths.indexFilePath,
        'ENOSPC',
      ),
    )
    await expect(
      importMemories(await source(FILES), memory.paths, watched.fileSystem),
    ).rejects.toMatchObject({ code: 'WRITE_FAILED', errno: 'ENOSPC' })
    expect(await snapshotOf(memory)).toEqual(before)
    expect(await litterOf(memory)).toEqual([])
  })

  test('and a save at the same time both keep their lines', async () => {
    const memory = await testMemory()
    const directory = await source(FILES)
    await Promise.all([
      importMemories(directory, memory.paths),
      memory.store.save({ key: 'Saved meanwhile', content: 'x' }),
    ])
    const index = await indexOf(memory)
    for (const name of ['rule.md', 'tide.md', 'unlisted.md', 'saved-meanwhile.md']) {
      expect(index.split(`(${name})`)).toHaveLength(2)
    }
  })
})
