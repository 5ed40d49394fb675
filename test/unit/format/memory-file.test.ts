import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import * as yaml from 'yaml'
import {
  deriveDescription,
  normalizeMemoryType,
  parseMemoryFrontmatter,
  readMemoryHeader,
  renderMemoryFile,
} from '../../../src/format/memory-file.ts'
import { AWKWARD_VALUES } from '../../support/awkward-values.ts'

const jsYaml = createRequire(import.meta.url)('js-yaml') as { load(text: string): unknown }

const frontmatter = (text: string): string => text.split('---\n')[1] ?? ''
const render = (description: string, body = 'body'): string =>
  renderMemoryFile({ name: 'n', description, type: 'feedback', body })

const awkward = [
  ...AWKWARD_VALUES,
  ' leading and trailing ',
  `long ${'word '.repeat(60)}end`,
  'line\nbreak\r\nand\u0085\u2028\u2029\ttab\u0000\u001b\ufeff\ufffe',
  '🚀 部署规则',
]

describe('rendering a memory file', () => {
  it('writes the keys of the contract in order', () => {
    const text = renderMemoryFile({
      name: 'staging-rule',
      description: 'Ask first.',
      type: 'project',
      body: 'Ask before a deploy.',
      title: 'Staging rule',
      originSessionId: 'session-1',
    })
    expect(text).toBe(
      [
        '---',
        'name: "staging-rule"',
        'description: "Ask first."',
        'metadata:',
        '  type: project',
        '  node_type: memory',
        '  title: "Staging rule"',
        '  originSessionId: "session-1"',
        '---',
        '',
        'Ask before a deploy.',
        '',
      ].join('\n'),
    )
  })

  it.each(awkward)('reads %j as the same string in every YAML reader', (text) => {
    const header = frontmatter(
      renderMemoryFile({ name: text, description: text, type: 'user', body: '', title: text }),
    )
    const expected = {
      name: text,
      description: text,
      metadata: { type: 'user', node_type: 'memory', title: text },
    }
    expect(yaml.parse(header, { version: '1.1' })).toStrictEqual(expected)
    expect(yaml.parse(header, { version: '1.2' })).toStrictEqual(expected)
    expect(jsYaml.load(header)).toStrictEqual(expected)
  })

  it('keeps every line of the header on one line', () => {
    const header = frontmatter(render(awkward.join('\n')))
    expect(header.split('\n')).toHaveLength(6)
    expect(header).not.toMatch(/[\u0085\u2028\u2029\ufeff]/)
  })

  it('drops blank lines around the body and nothing else', () => {
    const body =
      'Rule one\n\n---\n\nname: evil\ntype: user\n---\nRule two\n\n  trailing spaces  \r\nCRLF line\r\n'
    expect(render('d', `\n \t\r\n${body}\n\t\n`).endsWith(`---\n\n${body}`)).toBe(true)
    expect(render('d', '   four words of code').endsWith('---\n\n   four words of code\n')).toBe(
      true,
    )
    expect(render('d', 'last line  ').endsWith('\n\nlast line  \n')).toBe(true)
    expect(render('d', ' \n \n').endsWith('memory\n---\n')).toBe(true)
  })

  it('takes patterns of String.replace in a body literally', () => {
    expect(render('d', "body $` $& $1 $' $$").endsWith("body $` $& $1 $' $$\n")).toBe(true)
  })

  it('keeps a body that is itself a memory file, and reads the outer header', () => {
    const inner =
      '---\nname: other\ndescription: fake\nmetadata:\n  type: user\n---\nThe body text.'
    const text = render('real', inner)
    expect(text.endsWith(`${inner}\n`)).toBe(true)
    expect(readMemoryHeader(text)).toStrictEqual({
      name: 'n',
      description: 'real',
      type: 'feedback',
    })
  })

  it('writes an unknown type as project', () => {
    expect(normalizeMemoryType('user')).toBe('user')
    for (const value of ['todo', '', undefined, null, 7, { type: 'user' }, 'toString']) {
      expect(normalizeMemoryType(value)).toBe('project')
    }
  })
})

describe('reading a header', () => {
  const read = (...lines: string[]) => readMemoryHeader(['---', ...lines, '---', 'body'].join('\n'))

  it.each(awkward)('gives back what was written: %j', (text) => {
    const written = { name: text, description: text, type: 'reference', title: text } as const
    expect(readMemoryHeader(renderMemoryFile({ ...written, body: 'x' }))).toStrictEqual(written)
    expect(parseMemoryFrontmatter(renderMemoryFile({ ...written, body: 'x' }))).toStrictEqual({
      description: text,
      type: 'reference',
    })
  })

  it('reads CRLF files, a BOM and a closing fence at the end of the file', () => {
    const text = '\ufeff---\r\nname: a\r\ndescription: hello\r\nmetadata:\r\n  type: user\r\n---'
    expect(readMemoryHeader(text)).toStrictEqual({ name: 'a', description: 'hello', type: 'user' })
  })

  it('reads the older flat layout, and prefers metadata where both are', () => {
    expect(read('name: a', 'description: d', 'type: user', 'originSessionId: s')).toStrictEqual({
      name: 'a',
      description: 'd',
      type: 'user',
      originSessionId: 's',
    })
    expect(read('type: user', 'metadata:', '  type: feedback').type).toBe('feedback')
  })

  it('shows no type outside the four', () => {
    expect(read('type: "Feedback"').type).toBeUndefined()
    expect(read('type: todo').type).toBeUndefined()
    expect(read('type: user', 'metadata:', '  type: todo').type).toBe('user')
  })

  it('reads line by line what YAML refuses', () => {
    expect(
      read(
        'name: a',
        'description: Use for: "x" or when y',
        'metadata: ',
        '  node_type: memory',
        '  type: feedback',
        '  modified: 2026-09-03T00:00:00.000Z',
      ),
    ).toStrictEqual({ name: 'a', description: 'Use for: "x" or when y', type: 'feedback' })
    expect(read('description: "say "hi" now"', 'metadata:', '  type: feedback')).toStrictEqual({
      description: 'say "hi" now',
      type: 'feedback',
    })
    expect(read('description: d', 'metadata:', '\ttype: user')).toStrictEqual({
      description: 'd',
      type: 'user',
    })
    expect(read('description: [WIP] do x').description).toBe('[WIP] do x')
    expect(read('other:', '  type: user', 'description: "a" b').type).toBeUndefined()
  })

  it('survives duplicate keys, bombs, deep nesting and values that are no text', () => {
    expect(read('description: one', 'description: two').description).toBe('two')
    expect(read('description: one', 'x: "a" b', 'description: two').description).toBe('two')
    const folded = ['description: >', '  folded']
    expect(read('x: 1', 'x: 2', ...folded).description).toBe('folded\n')
    expect(read(`x: ${'['.repeat(60)}${']'.repeat(60)}`, ...folded).description).toBe('folded\n')
    expect(read(`x: ${'['.repeat(70)}${']'.repeat(70)}`, ...folded)).toStrictEqual({})
    const bomb = ['a: &a [x,x]', ...Array.from({ length: 20 }, (_, i) => `b${i}: &b${i} [*a,*a]`)]
    expect(read(...bomb, 'description: *t')).toStrictEqual({})
    expect(read('t: &t text', 'description: *t').description).toBe('text')
    expect(read('t: &t [1, 2]', 'description: *t')).toStrictEqual({})
    for (const deep of [
      '['.repeat(5000),
      '{a: '.repeat(5000),
      '- '.repeat(5000),
      '? '.repeat(5000),
    ]) {
      expect(read(`x: ${deep}`, deep, 'description: d')).toStrictEqual({ description: 'd' })
      expect(read(`description: ${deep.replaceAll(/\w/g, '')}`)).toStrictEqual({})
    }
    const steps = Array.from({ length: 400 }, (_, i) => `${' '.repeat(i)}a:`)
    expect(read('description: d', ...steps)).toStrictEqual({ description: 'd' })
    expect(read('description: [1, {x: y}]')).toStrictEqual({})
    expect(read('description:', '  nested: map', 'name: 0123')).toStrictEqual({ name: '0123' })
    expect(read('description: 2026-10-01').description).toBe('2026-10-01')
    expect(read('description: null', 'name: ""')).toStrictEqual({})
    expect(read('description: >', '  folded', '  text').description).toBe('folded text\n')
    expect(read('name: yes', 'constructor: x', '__proto__: y')).toStrictEqual({ name: 'yes' })
  })

  it('reads a header that is very long line by line', () => {
    const long = 'x'.repeat(20_000)
    expect(read(`description: ${long}`, 'metadata:', '  type: user')).toStrictEqual({
      description: long,
      type: 'user',
    })
  })

  it('takes nothing from a file without a closed header', () => {
    expect(readMemoryHeader('---\nname: a\ndescription: d\ntext\ntype: user\n')).toStrictEqual({})
    expect(readMemoryHeader('name: a\n---\n')).toStrictEqual({})
    expect(readMemoryHeader('--- \nname: a\n---\n')).toStrictEqual({})
    expect(readMemoryHeader('')).toStrictEqual({})
    expect(readMemoryHeader('---\n- a\n- b\n---\n')).toStrictEqual({})
  })
})

describe('deriving a description', () => {
  it('takes the first line of prose', () => {
    expect(deriveDescription('# Title\n\n- **First** point\n- second')).toBe('**First** point')
    expect(deriveDescription('> 1. quoted item\n')).toBe('quoted item')
    expect(deriveDescription('\n***\n\nafter a rule')).toBe('after a rule')
  })

  it('falls back to a heading, then to code', () => {
    expect(deriveDescription('# Only a heading\n\n```sh\nnpm ci\n```')).toBe('Only a heading')
    expect(deriveDescription('```sh\nnpm ci\n```')).toBe('npm ci')
    expect(deriveDescription(' \n\n')).toBe('')
  })

  it('skips frontmatter, and not prose between rules', () => {
    expect(deriveDescription('---\nname: x\ndescription: fake\n---\nThe body text.')).toBe(
      'The body text.',
    )
    expect(deriveDescription('---\nPlain words.\n---\nMore.')).toBe('Plain words.')
  })

  it('is one line of at most 150 code units', () => {
    const description = deriveDescription(`a\tb\u0085c ${'🚀'.repeat(200)}`)
    expect(description.startsWith('a b c 🚀')).toBe(true)
    expect(description.length).toBeLessThanOrEqual(150)
    expect(description.endsWith('🚀…')).toBe(true)
  })
})
