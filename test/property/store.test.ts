import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { MemoryError } from '../../src/errors.ts'
import {
  scanIndexEntries,
  upsertIndexEntries,
  utf8BytesCodec,
} from '../../src/format/index-file.ts'
import { topicOfKey } from '../../src/format/slug.ts'
import { titleTopic } from '../../src/store/file-name.ts'
import { editIndex } from '../../src/store/index-edit.ts'
import { isSafeMemoryFileName, resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import { TEMPORARY_BASE } from '../support/test-memory.ts'

const jsYaml = createRequire(import.meta.url)('js-yaml') as { load: (text: string) => unknown }

/** Run a property on a store of its own each time. */
async function withStore<T>(check: (store: ProjectMemoryStore) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(TEMPORARY_BASE, 'project-memory-'))
  try {
    return await check(new ProjectMemoryStore(resolveProjectMemoryPaths('/p', { DSH_HOME: home })))
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Text that YAML, Markdown and file systems find hard, well-formed and without NUL. */
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      'yes',
      '~',
      '1e3',
      '2026-10-01',
      "it's",
      '"',
      '\\',
      '- a',
      '# b',
      '{{x}}',
      '%41',
    ),
  )
  .map((value) => value.replaceAll('\0', ' '))

const key = fc.oneof(
  text,
  fc.constantFrom(
    'Rule',
    'rule',
    'RULE.md',
    'r\u200bule',
    'ru le',
    'ru-le',
    '部署 规则',
    '部署-规则',
    'memory',
    'con',
    '../x',
    '.a',
    'é',
    'e\u0301',
  ),
)

const visible = (value: string): boolean => titleTopic(value) !== ''

const indexLine = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...['a.md', 'b.md', 'rule.md'].flatMap((name) => [
        `- [T](${name}) — hook`,
        `* [T](./${name})`,
        `- ${name}: hook`,
        `  - [T](<${name}>)`,
        `see ${name} for more`,
        `    deeper ${name}`,
        `\ufeff- [T](${name})`,
      ]),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\t',
      '# Head',
      'prose',
      '  indented',
      '   - nested',
      '1. item',
      '- [O](other.md) — o',
      '\ufeff',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '```',
      '~~~',
      '<!-- c',
      '-->',
      '<!-- one --> x',
      '100% sure',
      '50%20',
      '- [E](rule%2Emd)',
      String.raw`- [E](rule\.md)`,
      String.raw`- [\[x\]](b.md)`,
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
)

const indexText = fc
  .tuple(
    fc.constantFrom(
      '',
      '',
      '\ufeff',
      '<!-- notes -->\n',
      '```\nx\n```\n\n',
      '<!-- a\nb -->\n',
      '- x\n  ```\n',
      '```\n- [T](a.md)\n```\n\n',
      '<!--\n- rule.md: x\n-->\n\n',
    ),
    fc.array(fc.tuple(indexLine, fc.constantFrom('\n', '\n', '\r\n')), { maxLength: 14 }),
    fc.option(indexLine, { nil: '' }),
  )
  .map(([mark, lines, last]) => mark + lines.map((line) => line.join('')).join('') + last)
  .map((value) => value.replaceAll('\0', ' '))

test('an edit of the lines in question gives what an edit of the whole index gives', () => {
  const entries = fc.uniqueArray(
    fc.record({
      fileName: fc.constantFrom('a.md', 'b.md', 'rule.md', 'new.md', 'a-b_c.md'),
      title: fc.constantFrom('T', 'new [title]', '部署'),
      hook: fc.constantFrom('', 'hook', 'say 100%'),
    }),
    { selector: ({ fileName }) => fileName, maxLength: 3 },
  )
  fc.assert(
    fc.property(indexText, entries, (index, wanted) => {
      const bytes = Buffer.from(index, 'utf8')
      const { isChanged, pieces } = editIndex(bytes, wanted)
      const whole = upsertIndexEntries(bytes.toString('latin1'), wanted, utf8BytesCodec).text
      expect(Buffer.concat(pieces).toString('utf8')).toBe(
        Buffer.from(whole, 'latin1').toString('utf8'),
      )
      expect(isChanged).toBe(whole !== bytes.toString('latin1'))
    }),
    { numRuns: 5_000 },
  )
})

test('every parser reads back the description and title of any save, and the body is whole', async () => {
  await fc.assert(
    fc.asyncProperty(key.filter(visible), text, text, (memoryKey, description, body) =>
      withStore(async (store) => {
        const content = `x${body}`
        const { filePath, bytes } = await store.save({ key: memoryKey, description, content })
        const saved = await readFile(filePath, 'utf8')
        expect(Buffer.byteLength(saved)).toBe(bytes)
        const [, header = '', rest = ''] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/u.exec(saved) ?? []
        expect(rest).toBe(
          `${content.replace(/[ \t\r\n]*$/u, (tail) => /^[^\n]*/u.exec(tail)?.[0] ?? '')}\n`,
        )
        for (const parsed of [
          jsYaml.load(header),
          parseYaml(header, { version: '1.1' }),
          parseYaml(header, { version: '1.2' }),
        ]) {
          expect(parsed).toMatchObject({ metadata: { title: memoryKey, node_type: 'memory' } })
          if (description.trim() !== '') expect(parsed).toMatchObject({ description })
        }
      }),
    ),
    { numRuns: 150 },
  )
})

test('a save goes to one safe file directly in the memory directory, or is refused with a reason', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(key, fc.string({ unit: 'binary' })), (memoryKey) =>
      withStore(async (store) => {
        const { root } = store.paths
        const saving = store.save({ key: memoryKey, content: 'c' })
        const saved = await saving.catch((error: unknown) => {
          expect(error).toBeInstanceOf(MemoryError)
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
          return undefined
        })
        if (saved === undefined) return
        expect(isSafeMemoryFileName(saved.fileName)).toBe(true)
        expect((await readdir(root)).sort()).toEqual(['MEMORY.md', saved.fileName].sort())
        expect(await readdir(dirname(root))).toEqual(['memory'])
      }),
    ),
    { numRuns: 150 },
  )
})

test('after any saves, each topic has one file and one line, with the last content', async () => {
  const saves = fc.array(fc.tuple(key.filter(visible), fc.boolean()), {
    minLength: 1,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(saves, (wanted) =>
      withStore(async (store) => {
        const last = new Map<string, string>()
        let running: Promise<unknown>[] = []
        for (const [at, [memoryKey, isAwaited]] of wanted.entries()) {
          running.push(store.save({ key: memoryKey, content: `number ${at}`, description: 'd' }))
          last.set(titleTopic(memoryKey), `number ${at}`)
          if (isAwaited) running = [Promise.all(running)]
        }
        await Promise.all(running)
        const entries = scanIndexEntries((await store.readIndex()).content)
        const names = entries.map(({ fileName }) => fileName)
        expect(names).toHaveLength(last.size)
        expect((await store.listEntries()).map(({ fileName }) => fileName)).toEqual(names.sort())
        for (const name of names) {
          const saved = await readFile(join(store.paths.root, name), 'utf8')
          const { metadata } = parseYaml(saved.split('\n---\n')[0] ?? '') as {
            metadata: { title: string }
          }
          expect(saved.endsWith(`\n\n${last.get(topicOfKey(metadata.title))}\n`)).toBe(true)
        }
      }),
    ),
    { numRuns: 100 },
  )
})

test('whatever the index is, a save keeps its other bytes or fails with a reason and keeps all', async () => {
  const anyIndex = fc.oneof(
    indexText.map((value) => Buffer.from(value, 'utf8')),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(anyIndex, (index) =>
      withStore(async (store) => {
        const { indexFilePath } = store.paths
        await store.save({ key: 'first', content: 'c' })
        await writeFile(indexFilePath, index)
        const error = await store.save({ key: 'new', content: 'c', description: 'd' }).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        const after = await readFile(indexFilePath)
        if (error !== undefined) {
          expect(error).toMatchObject({ code: 'NOT_UTF8', path: indexFilePath })
          expect(after.equals(index)).toBe(true)
          return
        }
        const line = '- [new](new.md) — d'
        const at = after.indexOf(line)
        const around = Buffer.concat([
          after.subarray(0, at),
          after.subarray(at + Buffer.byteLength(line)),
        ])
        const isLineBreak = (byte: number | undefined): boolean => byte === 10 || byte === 13
        expect([...around].filter((byte) => !isLineBreak(byte))).toEqual(
          [...index].filter((byte) => !isLineBreak(byte)),
        )
      }),
    ),
    { numRuns: 150 },
  )
})
