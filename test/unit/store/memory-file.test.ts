import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { MEMORY_READ_MAX_BYTES } from '../../../src/store/stable-read.ts'
import { AWKWARD_VALUES } from '../../support/awkward-values.ts'
import { fileOf, givenFiles, linesOf, snapshotOf, testMemory } from '../../support/test-memory.ts'

const jsYaml = createRequire(import.meta.url)('js-yaml') as { load: (text: string) => unknown }

const YAML_READERS: [string, (text: string) => unknown][] = [
  ['YAML 1.1', (text) => parseYaml(text, { version: '1.1' })],
  ['YAML 1.2', (text) => parseYaml(text, { version: '1.2' })],
  ['js-yaml', (text) => jsYaml.load(text)],
]

function headerOf(text: string): string {
  return /^---\n([\s\S]*?)\n---\n/u.exec(text)?.[1] ?? ''
}

test('descriptions that YAML could misread come back the same in every parser', async () => {
  const memory = await testMemory()
  const descriptions = [...AWKWARD_VALUES, '🚀 e\u0301 \u2028 \u0085 \ufeff end']
  for (const [at, description] of descriptions.entries()) {
    const { filePath, fileName } = await memory.store.save({
      key: `m${at}`,
      description,
      content: 'c',
    })
    const header = headerOf(await readFile(filePath, 'utf8'))
    for (const [, read] of YAML_READERS) {
      expect(read(header)).toEqual({
        name: fileName.slice(0, -'.md'.length),
        description,
        metadata: { type: 'project', node_type: 'memory', title: `m${at}` },
      })
    }
  }
  const listed = await memory.store.listEntries()
  expect(new Set(listed.map(({ description }) => description))).toEqual(new Set(descriptions))
})

test('a file with a broken header stays as it is until its own key is saved', async () => {
  const memory = await testMemory()
  const old =
    '---\nname: r\ndescription: "say "hi" now"\nmetadata:\n  type: feedback\n  status: active\ntags: [a, b]\n---\nbody\n'
  await givenFiles(memory, { 'r.md': old, 'MEMORY.md': '- [r](r.md) — say hi\n' })
  await memory.store.listEntries()
  await memory.store.save({ key: 'another', content: 'c' })
  expect(await fileOf(memory, 'r.md')).toBe(old)
  expect(await memory.store.save({ key: 'r', content: 'new', type: 'user' })).toMatchObject({
    fileName: 'r.md',
    replaced: true,
  })
  for (const [, read] of YAML_READERS) {
    expect(read(headerOf(await fileOf(memory, 'r.md')))).toMatchObject({
      name: 'r',
      description: 'new',
      metadata: { type: 'user', title: 'r' },
    })
  }
})

test('a whole file passed as content is kept as the body, and does not stack up', async () => {
  const memory = await testMemory()
  const content = '---\nname: other\ndescription: fake\nnodes: 2\n---\nThe body text.'
  for (let time = 0; time < 2; time += 1) {
    const { fileName } = await memory.store.save({
      key: 'cluster notes',
      description: 'real',
      content,
    })
    expect(fileName).toBe('cluster-notes.md')
    const text = await fileOf(memory, fileName)
    expect(text.endsWith(`---\n\n${content}\n`)).toBe(true)
    expect(text.match(/^---$/gmu)).toHaveLength(4)
  }
  expect(await linesOf(memory)).toEqual(['- [cluster notes](cluster-notes.md) — real'])
  expect(await memory.store.listEntries()).toEqual([
    { fileName: 'cluster-notes.md', description: 'real', type: 'project' },
  ])
})

test('a body is kept byte for byte but for blank lines around it', async () => {
  const memory = await testMemory()
  const body =
    '  Rule one\n\n---\n\nname: evil\ntype: user\n---\nRule two\n\n  trailing spaces  \r\nCRLF line\r\n'
  const { filePath } = await memory.store.save({ key: 'k', content: `\n \n${body}\n\n` })
  const text = await readFile(filePath, 'utf8')
  expect(text.endsWith(`\n---\n\n${body}`)).toBe(true)
  expect(await memory.store.listEntries()).toMatchObject([{ type: 'project' }])
})

test('a memory is never larger than what can be read again', async () => {
  const memory = await testMemory()
  const header = 200
  await memory.store.save({
    key: 'x',
    content: 'x'.repeat(MEMORY_READ_MAX_BYTES - header),
    description: 'd',
  })
  expect(await memory.store.save({ key: 'x', content: 'small', description: 'd' })).toMatchObject({
    replaced: true,
  })
  const before = await snapshotOf(memory)
  for (const content of [
    'x'.repeat(MEMORY_READ_MAX_BYTES),
    '规'.repeat(MEMORY_READ_MAX_BYTES / 3 + 1),
  ]) {
    await expect(memory.store.save({ key: 'x', content, description: 'd' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^content.*(?:5242880|5242\d\d\d)/u) as string,
    })
  }
  expect(await snapshotOf(memory)).toEqual(before)
})
