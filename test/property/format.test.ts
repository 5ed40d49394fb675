import { createRequire } from 'node:module'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as yaml from 'yaml'
import { readWithParser, readWrittenShape } from '../../src/format/frontmatter.ts'
import {
  deriveDescription,
  formatProjectMemoryIndexContent,
  isWellFormedText,
  MEMORY_RECALL_TYPES,
  memoryFileNames,
  parseMemoryFrontmatter,
  readMemoryHeader,
  renderMemoryFile,
  scanIndexEntries,
  stripLeadingFrontmatter,
  stripTopLevelHtmlComments,
  toSingleLine,
  topicOfKey,
  truncateText,
} from '../../src/format/index.ts'
import { anyString, anyText, index, runs } from './format-arbitraries.ts'

const jsYaml = createRequire(import.meta.url)('js-yaml') as { load(text: string): unknown }

describe('names', () => {
  const key = anyText.filter((text) => text.trim() !== '')

  it('are one safe path segment for any key', () => {
    fc.assert(
      fc.property(key, (text) => {
        const { preferred, legacy, longer } = memoryFileNames(text)
        for (const name of [preferred, ...longer, ...(legacy === undefined ? [] : [legacy])]) {
          expect(name).toMatch(/^[a-z0-9_][a-z0-9._-]*\.md$/)
          expect(name.length).toBeLessThanOrEqual(255)
          expect(name).not.toMatch(/^(?:memory|(?:con|prn|aux|nul|com\d|lpt\d)(?:\.[^.]*)*)\.md$/)
          if (name !== legacy) expect(name).not.toMatch(/\.\.md$/)
        }
      }),
      runs,
    )
  })

  it('differ for different topics, and are equal for equal keys in another case', () => {
    fc.assert(
      fc.property(key, key, (one, other) => {
        const [a, b] = [memoryFileNames(one), memoryFileNames(other)]
        if (topicOfKey(one) === topicOfKey(other)) return
        expect(a.longer[1]).not.toBe(b.longer[1])
        expect(a.longer[0]).not.toBe(b.longer[0])
        expect(a.preferred).not.toBe(b.preferred)
      }),
      { numRuns: 20_000 },
    )
  })

  it('follow from the topic when the key is plain', () => {
    const plain = fc.stringMatching(/^[a-zA-Z0-9._ -]{1,80}$/).filter((text) => text.trim() !== '')
    fc.assert(
      fc.property(plain, fc.constantFrom('-', ' ', '\t'), (text, blank) => {
        const other = text.trim().replaceAll(' ', blank).toUpperCase()
        if (topicOfKey(other) !== topicOfKey(text)) return
        expect(memoryFileNames(other)).toStrictEqual(memoryFileNames(text))
      }),
      runs,
    )
  })

  it('have a topic that survives being stored as a title', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(topicOfKey(toSingleLine(text))).toBe(topicOfKey(text))
      }),
      runs,
    )
  })
})

describe('lines of text', () => {
  it('stay the same when made one line twice, and hold no line break', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const line = toSingleLine(text)
        expect(toSingleLine(line)).toBe(line)
        expect(line).not.toMatch(/[\p{Control}\u2028\u2029\u202a-\u202e]/u)
      }),
      runs,
    )
  })

  it('are cut to length and stay well-formed', () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, length) => {
        const cut = truncateText(text, length)
        expect(cut.length).toBeLessThanOrEqual(length)
        expect(isWellFormedText(cut)).toBe(true)
      }),
      runs,
    )
  })
})

describe('memory files', () => {
  const memory = fc.record(
    {
      name: anyString,
      description: anyString,
      type: fc.constantFrom(...MEMORY_RECALL_TYPES),
      body: anyString,
      title: anyString,
      originSessionId: anyString,
    },
    { requiredKeys: ['name', 'description', 'type', 'body'] },
  )

  it('give back every header string, with either reader', () => {
    fc.assert(
      fc.property(memory, (content) => {
        const text = renderMemoryFile(content)
        const { body: _, ...header } = content
        const expected = Object.fromEntries(
          Object.entries(header).filter(([, value]) => value !== ''),
        )
        const lines = text.slice('---\n'.length, text.indexOf('\n---\n')).split('\n')
        expect(readMemoryHeader(text)).toStrictEqual(expected)
        expect(readWrittenShape(lines)).toStrictEqual(expected)
        expect(readWithParser(lines)).toStrictEqual(expected)
      }),
      runs,
    )
  })

  it('are the same to YAML 1.1, YAML 1.2 and js-yaml', () => {
    fc.assert(
      fc.property(memory, (content) => {
        const text = renderMemoryFile(content)
        const header = text.slice('---\n'.length, text.indexOf('\n---\n') + 1)
        const { name, description, type, body: _, ...rest } = content
        const expected = { name, description, metadata: { type, node_type: 'memory', ...rest } }
        expect(yaml.parse(header, { version: '1.1' })).toStrictEqual(expected)
        expect(yaml.parse(header, { version: '1.2' })).toStrictEqual(expected)
        expect(jsYaml.load(header)).toStrictEqual(expected)
      }),
      runs,
    )
  })

  it('end with the body as given, without its outer blank lines', () => {
    fc.assert(
      fc.property(memory, (content) => {
        const text = renderMemoryFile(content)
        const body = content.body.replace(/^(?:[ \t\r]*\n)+/, '').replace(/\n[ \t\r\n]*$/, '\n')
        if (/^[ \t\r\n]*$/.test(body)) expect(text.endsWith('\n---\n')).toBe(true)
        else
          expect(text.endsWith(`\n---\n\n${body.endsWith('\n') ? body : `${body}\n`}`)).toBe(true)
      }),
      runs,
    )
  })
})

describe('any text', () => {
  it('is read without an exception', () => {
    const wild = fc.oneof(
      anyString,
      anyString.map((text) => `---\n${text}\n---\n${text}`),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      index,
    )
    fc.assert(
      fc.property(wild, (text) => {
        expect(parseMemoryFrontmatter(text)).toBeTypeOf('object')
        expect(deriveDescription(text).length).toBeLessThanOrEqual(150)
        expect(scanIndexEntries(text)).toBeInstanceOf(Array)
        expect(stripLeadingFrontmatter(text).length).toBeLessThanOrEqual(text.length)
        expect(stripTopLevelHtmlComments(text).length).toBeLessThanOrEqual(text.length)
        expect(formatProjectMemoryIndexContent(text)).toBeTypeOf('string')
      }),
      runs,
    )
  })

  it('is read alike by the reader without a parser, when that takes it', () => {
    const value = fc.oneof(
      anyText.map((text) => JSON.stringify(text)),
      fc.constantFrom(
        '"\\x41"',
        '"a" # c',
        'plain',
        "'q'",
        'user',
        'memory',
        'null',
        '""',
        '"\\/"',
      ),
    )
    const line = fc
      .tuple(
        fc.constantFrom('', '  ', '    '),
        fc.constantFrom(
          'name',
          'description',
          'type',
          'node_type',
          'title',
          'originSessionId',
          'x',
        ),
        value,
      )
      .map(([indent, name, text]) => `${indent}${name}: ${text}`)
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.constant('metadata:')), { maxLength: 6 }), (lines) => {
        const quick = readWrittenShape(lines)
        if (quick !== undefined) expect(readWithParser(lines)).toStrictEqual(quick)
      }),
      { numRuns: 20_000 },
    )
  })
})
