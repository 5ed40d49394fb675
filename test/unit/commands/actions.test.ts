import { mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { MemoryScope } from '../../../src/commands/actions.ts'
import {
  examine,
  failureOf,
  forgetMemory,
  listMemories,
  locatePlaces,
  mend,
  searchMemories,
  showMemory,
  undoForget,
} from '../../../src/commands/actions.ts'
import { MemoryError } from '../../../src/errors.ts'
import { projectMemoryCandidates, resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

const FORGET = { purge: false, sessionId: undefined, signal: undefined }

async function scopeOf(name = 'app'): Promise<MemoryScope & { home: string }> {
  const home = await temporaryDirectory()
  const projectPath = join(home, 'work', name)
  await mkdir(projectPath, { recursive: true })
  const env = { DSH_HOME: join(home, 'dsh') }
  const store = new ProjectMemoryStore(resolveProjectMemoryPaths(projectPath, env))
  return { store, projectPath, env, home }
}

async function withMemories(): Promise<MemoryScope> {
  const scope = await scopeOf()
  const days = [
    ['Old rule', 30],
    ['部署规则', 2],
    ['New rule', 1],
  ] as const
  for (const [key, age] of days) {
    const { filePath } = await scope.store.save({
      key,
      content: `About ${key}.\n\nMore.`,
      type: 'feedback',
      originSessionId: 'session-1',
    })
    const time = new Date(Date.now() - age * 86_400_000)
    await utimes(filePath, time, time)
  }
  return scope
}

function titles({ memories }: { memories: { title: string }[] }): string[] {
  return memories.map(({ title }) => title)
}

describe('list', () => {
  test('gives the most recently written first, with what the files say', async () => {
    const scope = await withMemories()
    const outcome = await listMemories(scope)
    expect(titles(outcome)).toEqual(['New rule', '部署规则', 'Old rule'])
    expect(outcome.memories[0]).toMatchObject({
      fileName: 'new-rule.md',
      type: 'feedback',
      description: 'About New rule.',
      sessionId: 'session-1',
      indexed: true,
      problem: null,
    })
  })

  test('changes nothing on the disk, not even a directory', async () => {
    const scope = await scopeOf()
    expect(await listMemories(scope)).toMatchObject({ exists: false, memories: [] })
    await locatePlaces(scope)
    await examine(scope)
    await expect(readdir(scope.env['DSH_HOME'] ?? '')).rejects.toThrow('ENOENT')
  })

  test('names the directory above that has a memory when this one has none', async () => {
    const scope = await scopeOf()
    await scope.store.save({ key: 'a', content: 'a' })
    const inner = join(scope.projectPath, 'src', 'lib')
    const store = new ProjectMemoryStore(resolveProjectMemoryPaths(inner, scope.env))
    const outcome = await listMemories({ ...scope, store, projectPath: inner })
    expect(outcome.memoryAbove).toBe(scope.projectPath)
  })

  test('shows what is damaged with the reason and the others all the same', async () => {
    const scope = await withMemories()
    const { root, indexFilePath } = scope.store.paths
    await writeFile(join(root, 'latin1.md'), Buffer.from([0xff, 0x41]))
    await mkdir(join(root, 'folder.md'))
    await writeFile(indexFilePath, `${await readFile(indexFilePath, 'utf8')}- [Gone](gone.md)\n`)
    const { memories } = await listMemories(scope)
    const byName = Object.fromEntries(memories.map((memory) => [memory.fileName, memory]))
    expect(memories).toHaveLength(6)
    expect(byName['latin1.md']).toMatchObject({ indexed: false })
    expect(byName['latin1.md']?.problem).toContain('not UTF-8')
    expect(byName['folder.md']?.problem).toContain('not a regular file')
    expect(byName['gone.md']).toMatchObject({ title: 'Gone', problem: 'missing', modified: null })
  })

  test('lists the files when the index cannot be read, and says so', async () => {
    const scope = await withMemories()
    await writeFile(scope.store.paths.indexFilePath, Buffer.from([0xff]))
    const outcome = await listMemories(scope)
    expect(outcome.indexProblem).toContain('not UTF-8')
    expect(titles(outcome)).toContain('部署规则')
  })

  test('does not follow a link in place of the memory directory', async () => {
    const scope = await withMemories()
    const other = await scopeOf('other')
    await mkdir(dirname(other.store.paths.root), { recursive: true })
    await symlink(scope.store.paths.root, other.store.paths.root)
    await expect(listMemories(other)).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  })
})

describe('show', () => {
  test('gives the body as it is in the file, without the header', async () => {
    const scope = await withMemories()
    const outcome = await showMemory(scope, '部署规则')
    expect(outcome).toMatchObject({ kind: 'show', body: 'About 部署规则.\n\nMore.\n' })
  })

  test('names the closest ones when there is none', async () => {
    const scope = await withMemories()
    expect(await showMemory(scope, 'New rul')).toMatchObject({
      kind: 'missing',
      verb: 'show',
      name: 'New rul',
      candidates: [{ fileName: 'new-rule.md', title: 'New rule' }, {}],
    })
  })
})

describe('search', () => {
  test('looks through title, description and body, and orders by match and age', async () => {
    const scope = await withMemories()
    expect(titles(await searchMemories(scope, 'rule'))).toEqual(['New rule', 'Old rule'])
    expect(titles(await searchMemories(scope, '部署'))).toEqual(['部署规则'])
    expect(await searchMemories(scope, 'nothing')).toMatchObject({ searched: 3, memories: [] })
  })

  test('does not find words of the header', async () => {
    const scope = await withMemories()
    expect((await searchMemories(scope, 'originSessionId')).memories).toEqual([])
  })
})

describe('forget and undo', () => {
  test('take a memory away by title and bring it back', async () => {
    const scope = await withMemories()
    const forgotten = await forgetMemory(scope, 'old RULE', FORGET)
    expect(forgotten).toMatchObject({ kind: 'forget', fileName: 'old-rule.md', title: 'Old rule' })
    expect(Date.parse('undoUntil' in forgotten ? (forgotten.undoUntil ?? '') : '')).toBeGreaterThan(
      Date.now() + 29 * 86_400_000,
    )
    expect(titles(await listMemories(scope))).toEqual(['New rule', '部署规则'])
    expect((await locatePlaces(scope)).inTrash).toBe(1)

    expect(await undoForget(scope, 'Old rule', undefined)).toMatchObject({
      kind: 'undo',
      fileName: 'old-rule.md',
    })
    expect(titles(await listMemories(scope))).toContain('Old rule')
    expect(await undoForget(scope, undefined, undefined)).toMatchObject({
      kind: 'missing',
      name: null,
    })
  })

  test('bring back the last one without a name, and another by its own', async () => {
    const scope = await withMemories()
    await forgetMemory(scope, 'Old rule', FORGET)
    await forgetMemory(scope, 'New rule', FORGET)
    expect(await undoForget(scope, '部署', undefined)).toEqual({
      kind: 'missing',
      verb: 'undo',
      name: '部署',
      candidates: [
        { fileName: 'new-rule.md', title: 'New rule' },
        { fileName: 'old-rule.md', title: 'Old rule' },
      ],
    })
    expect(await undoForget(scope, 'old-rule.md', undefined)).toMatchObject({ title: 'Old rule' })
    expect(await undoForget(scope, undefined, undefined)).toMatchObject({ title: 'New rule' })
  })

  test('keep nothing with purge', async () => {
    const scope = await withMemories()
    expect(await forgetMemory(scope, 'Old rule', { ...FORGET, purge: true })).toMatchObject({
      undoUntil: null,
    })
    expect((await locatePlaces(scope)).inTrash).toBe(0)
  })

  test('purge what was forgotten before', async () => {
    const scope = await withMemories()
    await forgetMemory(scope, 'Old rule', FORGET)
    expect(await forgetMemory(scope, 'old rule', FORGET)).toMatchObject({ kind: 'missing' })
    expect(await forgetMemory(scope, 'old rule', { ...FORGET, purge: true })).toMatchObject({
      kind: 'forget',
      fileName: 'old-rule.md',
      undoUntil: null,
    })
    expect((await locatePlaces(scope)).inTrash).toBe(0)
  })

  test('forget an index line whose file is missing', async () => {
    const scope = await withMemories()
    const { indexFilePath } = scope.store.paths
    await writeFile(indexFilePath, '- [Gone](gone.md) — x\n')
    expect(await forgetMemory(scope, 'Gone', FORGET)).toMatchObject({ title: 'Gone' })
    expect(await readFile(indexFilePath, 'utf8')).toBe('')
  })
})

describe('doctor', () => {
  test('says what it would do, does that, and deletes no memory', async () => {
    const scope = await withMemories()
    const { root, indexFilePath } = scope.store.paths
    await writeFile(join(root, 'orphan.md'), 'An orphan.\n')
    await writeFile(indexFilePath, `${await readFile(indexFilePath, 'utf8')}- [Gone](gone.md)\n`)
    const examination = await examine(scope)
    expect(examination.outcome.findings.map(({ code }) => code).toSorted()).toEqual([
      'dangling-line',
      'unfinished-save',
    ])
    expect(examination.outcome.repaired).toBeNull()

    const outcome = await mend(scope, examination)
    expect(outcome.repaired).toHaveLength(2)
    expect(outcome.remaining).toEqual([])
    expect(titles(await listMemories(scope)).toSorted()).toEqual(
      ['New rule', 'Old rule', 'orphan', '部署规则'].toSorted(),
    )
  })

  test('leaves what a person has to mend, and says so', async () => {
    const scope = await withMemories()
    await writeFile(scope.store.paths.indexFilePath, Buffer.from([0xff]))
    const outcome = await mend(scope, await examine(scope))
    expect(outcome.repaired).toEqual([])
    expect(outcome.remaining).toMatchObject([{ code: 'unreadable-index', repair: null }])
    expect(outcome.remaining[0]?.message).toContain('once it is moved away, doctor fix')
    await rm(scope.store.paths.indexFilePath)
    const rebuilt = await mend(scope, await examine(scope))
    expect(rebuilt.remaining).toEqual([])
    expect(await readFile(scope.store.paths.indexFilePath, 'utf8')).toContain('(old-rule.md)')
  })

  test('names a memory file that is no text', async () => {
    const scope = await withMemories()
    await writeFile(join(scope.store.paths.root, 'old-rule.md'), Buffer.from([0xff, 0xfe]))
    const { findings } = (await examine(scope)).outcome
    expect(findings).toMatchObject([
      { code: 'unreadable-file', path: join(scope.store.paths.root, 'old-rule.md'), repair: null },
    ])
    expect(findings[0]?.message).toContain('is not UTF-8 text; convert it to UTF-8')
  })

  test('tells when both spellings of the path have a memory', async () => {
    const scope = await withMemories()
    const link = join(dirname(scope.projectPath), 'link')
    await symlink(scope.projectPath, link)
    const { given } = projectMemoryCandidates(link, scope.env)
    expect((await examine({ ...scope, projectPath: link })).outcome.findings).toEqual([])
    await mkdir(given?.root ?? '', { recursive: true })
    const linked = { ...scope, projectPath: link }
    expect((await examine(linked)).outcome.findings).toMatchObject([
      { code: 'two-directories', path: given?.root },
    ])
    expect((await locatePlaces(linked)).otherDirectory).toBe(given?.root)
  })
})

describe('failures', () => {
  test('of the store and the system are data, mistakes of ours are thrown', () => {
    const error = new MemoryError('LOCK_TIMEOUT', 'the lock is taken')
    expect(failureOf(error)).toEqual({
      kind: 'failure',
      code: 'LOCK_TIMEOUT',
      message: 'the lock is taken',
    })
    const system = Object.assign(new Error('EACCES: no'), { code: 'EACCES' })
    expect(failureOf(system)).toMatchObject({ code: 'EACCES', message: 'EACCES: no' })
    expect(() => failureOf(new TypeError('ours'))).toThrow('ours')
  })
})
