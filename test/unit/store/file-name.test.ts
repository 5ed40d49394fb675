import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toSingleLine } from '../../../src/format/text.ts'
import {
  fileOf,
  givenFiles,
  indexOf,
  linesOf,
  memoryFilesOf,
  snapshotOf,
  testMemory,
} from '../../support/test-memory.ts'
import type { TestMemory } from '../../support/test-memory.ts'

async function save({ store }: TestMemory, key: string, content = `about ${key}`) {
  return store.save({ key, content, description: 'd' })
}

async function nameOf(memory: TestMemory, key: string): Promise<string> {
  return (await save(memory, key)).fileName
}

function memoryFile(fields: { title?: string; description?: string; body?: string }): string {
  const title = fields.title === undefined ? '' : `  title: ${JSON.stringify(fields.title)}\n`
  return `---\nname: x\ndescription: ${fields.description ?? 'old'}\nmetadata:\n  type: user\n${title}---\n\n${fields.body ?? 'old body'}\n`
}

test('names are those of the contract', async () => {
  const memory = await testMemory()
  expect(await nameOf(memory, 'Auth token refresh gotcha')).toBe('auth-token-refresh-gotcha.md')
  expect(await nameOf(memory, '部署规则')).toBe('memory-9c31a6.md')
  expect(await nameOf(memory, 'notes.md')).toBe('notes.md')
})

test('keys of emoji, punctuation or other scripts each get a file and a line', async () => {
  const memory = await testMemory()
  const keys = ['🚀', '🎯', '❤️', '!!!', '...', '部署规则', '发布前检查']
  for (const key of keys) await save(memory, key)
  expect(await memoryFilesOf(memory)).toHaveLength(7)
  expect(await linesOf(memory)).toHaveLength(7)
  const bodies = await Promise.all(
    (await memoryFilesOf(memory)).map(
      async (name) => (await fileOf(memory, name)).split('\n\n')[1],
    ),
  )
  expect(new Set(bodies.map((body) => body?.trimEnd()))).toEqual(
    new Set(keys.map((key) => `about ${key}`)),
  )
})

test('blank keys are refused, invisible ones too, and nothing is made', async () => {
  const memory = await testMemory()
  for (const key of ['', '   ', '\n\t', '\u200b', '\u200e \u2060', '\ufeff']) {
    await expect(save(memory, key)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'key must not be blank; write some text',
    })
  }
  expect(await readdir(memory.home)).toEqual([])
})

test('a topic in another spelling replaces its memory and says so; other topics do not', async () => {
  const memory = await testMemory()
  expect(await save(memory, 'Q3 Report', 'one')).toMatchObject({
    fileName: 'q3-report.md',
    replaced: false,
  })
  expect(await save(memory, 'Q3-Report!', 'two')).toMatchObject({ replaced: false })
  expect(await save(memory, 'q3_report', 'three')).toMatchObject({ replaced: false })
  expect(await save(memory, 'q3-report', 'four')).toMatchObject({
    fileName: 'q3-report.md',
    replaced: true,
  })
  expect(await save(memory, ' Q3  report ', 'five')).toMatchObject({
    fileName: 'q3-report.md',
    replaced: true,
  })
  expect(await memoryFilesOf(memory)).toHaveLength(3)
  expect(await linesOf(memory)).toHaveLength(3)
  expect(await fileOf(memory, 'q3-report.md')).toContain('five')
})

test('spellings of a topic in another script share one file, in both orders', async () => {
  for (const [first, second] of [
    ['部署 规则', '部署-规则'],
    ['部署-规则', '部署 规则'],
  ] as const) {
    const memory = await testMemory()
    const { fileName } = await save(memory, first, 'one')
    expect(await save(memory, second, 'two')).toMatchObject({ fileName, replaced: true })
    expect(await memoryFilesOf(memory)).toEqual([fileName])
    expect(await linesOf(memory)).toHaveLength(1)
    expect(await fileOf(memory, fileName)).toContain('two')
  }
})

test('spellings of a topic in another script that are saved at once share one file', async () => {
  const memory = await testMemory()
  const saved = await Promise.all(
    ['部署 规则', '部署-规则', '部署  规则'].map((key) => save(memory, key)),
  )
  expect(saved.map(({ replaced }) => replaced)).toEqual([false, true, true])
  expect(new Set(saved.map(({ fileName }) => fileName)).size).toBe(1)
  expect(await memoryFilesOf(memory)).toEqual([saved[0]?.fileName])
  expect(await linesOf(memory)).toHaveLength(1)
})

test('composed and decomposed characters are one memory', async () => {
  const memory = await testMemory()
  const { fileName } = await save(memory, 'café deploy'.normalize('NFC'), 'one')
  expect(await save(memory, 'café deploy'.normalize('NFD'), 'two')).toMatchObject({
    fileName,
    replaced: true,
  })
  expect(await linesOf(memory)).toHaveLength(1)
  expect(await memoryFilesOf(memory)).toEqual([fileName])
})

test('keys that differ only by invisible characters are one memory, in both orders', async () => {
  const bare = 'deploy rule'
  for (const hidden of [
    'deploy\u200b rule',
    '\u2066deploy rule\u2069',
    'de\u00adploy rule',
    'deploy rule\ufeff',
  ]) {
    expect(toSingleLine(hidden)).toBe(bare)
    for (const [first, second] of [
      [bare, hidden],
      [hidden, bare],
    ] as const) {
      const memory = await testMemory()
      const { fileName } = await save(memory, first)
      expect(fileName).toBe('deploy-rule.md')
      expect(await save(memory, second)).toMatchObject({ fileName, replaced: true })
      expect(await linesOf(memory)).toHaveLength(1)
    }
  }
})

test('no key ever names the index', async () => {
  const memory = await testMemory()
  for (const [key, content] of [
    ['memory', 'x'],
    ['MEMORY', 'y'],
    ['Memory.md', 'z'],
  ] as const) {
    expect((await save(memory, key, content)).fileName).toMatch(/^memory-memory-[0-9a-f]{6}\.md$/u)
  }
  expect(await memoryFilesOf(memory)).toHaveLength(1)
  expect(await linesOf(memory)).toHaveLength(1)
})

test('a hand-made memory.md beside the index is left alone', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'memory.md': 'by hand', 'MEMORY.md': '- [A](a.md)\n' })
  await save(memory, 'memory')
  expect(await fileOf(memory, 'memory.md')).toBe('by hand')
  expect(await linesOf(memory)).toHaveLength(2)
})

test('names that Windows or a shell would take for something else are changed', async () => {
  const memory = await testMemory()
  const keys = [
    'con',
    'NUL',
    'aux.',
    'com1',
    'lpt9',
    'nul.txt',
    'Desktop ',
    'Desktop.',
    'a:b',
    'a<b>c?',
    '.hidden',
    '-rf',
  ]
  const names = new Map<string, string>()
  for (const key of keys) names.set(key, await nameOf(memory, key))
  expect(new Set(names.values()).size).toBe(keys.length)
  for (const name of names.values()) {
    expect(name).toMatch(/^[a-z0-9][a-z0-9._-]*\.md$/u)
    expect(name).not.toMatch(/[. -]\.md$/u)
  }
  for (const key of ['con', 'NUL', 'aux.', 'com1', 'lpt9', 'nul.txt', '.hidden', '-rf']) {
    expect(names.get(key)).toMatch(/^memory-[a-z0-9-]+-[0-9a-f]{6}\.md$/u)
  }
})

test('keys that look like paths stay in the memory directory', async () => {
  const memory = await testMemory()
  const keys = [
    '/etc/cron.d/backdoor',
    '../escape',
    String.raw`..\..\x`,
    '%2e%2e%2fx',
    'a/../../b',
    String.raw`C:\x`,
    String.raw`\\srv\share\x`,
    '~/.bashrc',
    '..',
  ]
  for (const key of keys) {
    const { fileName, filePath } = await save(memory, key)
    expect(filePath).toBe(join(memory.paths.root, fileName))
    expect(fileName).toMatch(/^[a-z0-9][a-z0-9._-]*\.md$/u)
  }
  await expect(save(memory, 'a\0b')).rejects.toMatchObject({
    message: expect.stringMatching(/^key contains a NUL character at position 1/u) as string,
  })
  expect(await memoryFilesOf(memory)).toHaveLength(keys.length)
  expect(await readdir(memory.home)).toEqual(['memories'])
  expect(await readdir(join(memory.paths.root, '..'))).toEqual(['memory'])
})

test('a name that another topic has is passed over for one with 12, then 64 digits', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'rule.md': memoryFile({ title: 'another rule' }) })
  const { fileName, replaced } = await save(memory, 'Rule')
  expect(fileName).toMatch(/^rule-[0-9a-f]{12}\.md$/u)
  expect(replaced).toBe(false)
  expect(await fileOf(memory, 'rule.md')).toContain('another rule')
  await writeFile(join(memory.paths.root, fileName), memoryFile({ title: 'a third rule' }))
  expect((await save(memory, 'Rule')).fileName).toMatch(/^rule-[0-9a-f]{64}\.md$/u)
})

/** Two keys whose six hash digits are the same (`ec48c7`). */
const COLLIDING = ['规则嚡一', '规则坘一'] as const

test('topics whose short names are the same get a file each, one after the other and at once', async () => {
  for (const isAtOnce of [false, true]) {
    const memory = await testMemory()
    const saved = isAtOnce
      ? await Promise.all(COLLIDING.map((key) => save(memory, key)))
      : [await save(memory, COLLIDING[0]), await save(memory, COLLIDING[1])]
    expect(saved.map(({ replaced }) => replaced)).toEqual([false, false])
    expect(saved[0]?.fileName).toBe('memory-ec48c7.md')
    expect(saved[1]?.fileName).toMatch(/^memory-[0-9a-f]{12}\.md$/u)
    for (const [at, key] of COLLIDING.entries()) {
      expect(await save(memory, key)).toMatchObject({
        fileName: saved[at]?.fileName,
        replaced: true,
      })
    }
    expect(await linesOf(memory)).toHaveLength(2)
  }
})

test('when even the longest name is taken the save is refused and nothing changes', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'rule.md': memoryFile({ title: 'another' }) })
  for (let taken = 0; taken < 2; taken += 1) {
    const { fileName } = await save(memory, 'Rule')
    await writeFile(join(memory.paths.root, fileName), memoryFile({ title: 'another' }))
  }
  const before = await snapshotOf(memory)
  await expect(save(memory, 'Rule')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await snapshotOf(memory)).toEqual(before)
})

test('a file without a title is known by its index line', async () => {
  const memory = await testMemory()
  await givenFiles(memory, {
    'rule.md': memoryFile({}),
    'other.md': memoryFile({}),
    'unlisted.md': memoryFile({}),
    'MEMORY.md': '- [Rule](rule.md) — r\n- [Something else](other.md) — o\n',
  })
  expect(await save(memory, 'rule')).toMatchObject({ fileName: 'rule.md', replaced: true })
  expect((await save(memory, 'other')).fileName).toMatch(/^other-[0-9a-f]{12}\.md$/u)
  expect(await save(memory, 'unlisted')).toMatchObject({ fileName: 'unlisted.md', replaced: true })
})

test('a title that the index had to shorten still names its topic', async () => {
  const memory = await testMemory()
  const key = `${'long words '.repeat(9)}end`
  const { fileName } = await save(memory, key)
  const [line = ''] = await linesOf(memory)
  expect(line).toContain('…](')
  const text = await fileOf(memory, fileName)
  await writeFile(join(memory.paths.root, fileName), text.replace(/\n {2}title: .*/u, ''))
  expect(await save(memory, key)).toMatchObject({ fileName, replaced: true })
  expect(await linesOf(memory)).toHaveLength(1)
})

test('keys that are the same for 80 characters get files and lines of their own', async () => {
  const memory = await testMemory()
  const stem = 'the same words again and again '.repeat(3)
  const one = await save(memory, `${stem}one`)
  const two = await save(memory, `${stem}two`)
  expect(one.fileName).not.toBe(two.fileName)
  expect(one.fileName).toMatch(/^[a-z-]{48}-[0-9a-f]{6}\.md$/u)
  expect(await linesOf(memory)).toHaveLength(2)
  expect(await save(memory, `${stem}one`)).toMatchObject({ fileName: one.fileName, replaced: true })
})

test("the original plugin's name for a long key is used when its file is of this topic", async () => {
  const key = 'a long key that the original plugin would have cut at the limit'
  const cut = `${key.replaceAll(' ', '-').slice(0, 48)}.md`
  const memory = await testMemory()
  await givenFiles(memory, { [cut]: memoryFile({}), 'MEMORY.md': `- [${key}](${cut}) — old\n` })
  expect(await save(memory, key)).toMatchObject({ fileName: cut, replaced: true })
  const other = await testMemory()
  await givenFiles(other, { [cut]: memoryFile({}), 'MEMORY.md': `- [${key}, not quite](${cut})\n` })
  expect(await save(other, key)).toMatchObject({ replaced: false })
  expect(await fileOf(other, cut)).toContain('old body')
})

test('a directory in the place of a memory file fails the save with the path, and stays', async () => {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': '- [A](a.md)\n' })
  await mkdir(join(memory.paths.root, 'rule.md', 'inner'), { recursive: true })
  await expect(save(memory, 'rule')).rejects.toMatchObject({
    code: 'NOT_REGULAR_FILE',
    path: join(memory.paths.root, 'rule.md'),
  })
  expect(await indexOf(memory)).toBe('- [A](a.md)\n')
  expect(await readdir(join(memory.paths.root, 'rule.md'))).toEqual(['inner'])
})

test('an index line that points outside names no file of ours', async () => {
  const memory = await testMemory()
  const lines =
    '- [部署-规则](../x.md) — up\n- [规则-部署](sub/y.md) — down\n- [z-规](/etc/z.md) — far\n'
  await givenFiles(memory, { 'MEMORY.md': lines })
  for (const key of ['部署 规则', '规则 部署', 'z 规']) {
    expect((await save(memory, key)).fileName).toMatch(/^[a-z]+-[0-9a-f]{6}\.md$/u)
  }
  expect((await indexOf(memory)).startsWith(lines)).toBe(true)
  expect(await readdir(join(memory.paths.root, '..'))).toEqual(['memory'])
})
