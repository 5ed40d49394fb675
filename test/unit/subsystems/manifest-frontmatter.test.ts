import { expect, test } from 'vitest'
import { readManifestMetadata } from '../../../src/subsystems/manifest/frontmatter.ts'
import { AWKWARD_VALUES } from '../../support/awkward-values.ts'

function read(...lines: string[]): ReturnType<typeof readManifestMetadata> {
  return readManifestMetadata(`---\n${lines.join('\n')}\n---\nBody\n`)
}

test('the written shape gives its description and type', () => {
  const head = [
    'name: "a"',
    'description: "it’s \\"quoted\\" — 100%: #42"',
    'metadata:',
    '  type: reference',
    '  node_type: memory',
    '  title: "Title: x"',
    '  originSessionId: "s-1"',
  ]
  const wanted = { description: 'it’s "quoted" — 100%: #42', type: 'reference' }
  expect(read(...head)).toStrictEqual(wanted)
  expect(readManifestMetadata(`\uFEFF---\r\n${head.join('\r\n')}\r\n---\r\n`)).toStrictEqual(wanted)
})

test.each(AWKWARD_VALUES)('the quoted description %s is read in full', (description) => {
  expect(read('name: "n"', `description: ${JSON.stringify(description)}`)).toStrictEqual({
    description,
  })
})

test('a description that breaks YAML is read line by line, with its type', () => {
  expect(
    read(
      'name: a',
      'description: Use for: "x" or when y',
      'metadata: ',
      '  node_type: memory',
      '  type: feedback',
      '  modified: 2026-09-03T00:00:00.000Z',
    ),
  ).toStrictEqual({ description: 'Use for: "x" or when y', type: 'feedback' })
  expect(
    read('description: "say "hi" now"', 'metadata:', '  type: feedback', 'tags: [a, b]'),
  ).toStrictEqual({ description: 'say "hi" now', type: 'feedback' })
  expect(read("description: 'it''s' broken: 'x'", 'type: user')).toMatchObject({ type: 'user' })
  expect(read('description: [WIP] do x', 'type: user')).toStrictEqual({
    description: '[WIP] do x',
    type: 'user',
  })
})

test('line by line, type is taken only from the top level or directly below metadata', () => {
  const broken = 'description: a: b: c'
  expect(read(broken, 'metadata:', '\ttype: user')).toMatchObject({ type: 'user' })
  expect(read(broken, 'metadata:', '  more:', '    type: user')).not.toHaveProperty('type')
  expect(read(broken, 'other:', '  type: user')).not.toHaveProperty('type')
  expect(read(broken, 'metadata: x', '  type: user')).not.toHaveProperty('type')
  expect(read(broken, 'metadata:', '  type: user', 'type: project')).toMatchObject({ type: 'user' })
})

test.each([
  ['flat', ['name: f1', 'description: d', 'type: user', 'originSessionId: s'], 'user'],
  ['nested', ['description: d', 'metadata:', '  type: user'], 'user'],
  ['both', ['description: d', 'type: project', 'metadata:', '  type: user'], 'user'],
  ['unusable nested', ['description: d', 'type: project', 'metadata:', '  type: x'], 'project'],
  ['other case', ['description: d', 'type: "Feedback"'], undefined],
  ['unknown', ['description: d', 'type: todo'], undefined],
  ['list', ['description: d', 'type: [user]'], undefined],
])('the type of the %s layout', (_name, lines, type) => {
  expect(read(...lines)).toStrictEqual(
    type === undefined ? { description: 'd' } : { description: 'd', type },
  )
})

test.each([
  ['a list', 'description: [1, {x: y}]'],
  ['a mapping', 'description: {x: y}'],
  ['a number', 'description: 42'],
  ['nothing', 'description:'],
  ['blanks', 'description: "  \\t "'],
  ['null', 'description: null'],
])('%s as description gives none', (_name, line) => {
  expect(read(line, 'type: user')).toStrictEqual({ type: 'user' })
})

test('unquoted dates and digits are read as the text they are, or not at all', () => {
  expect(read('description: 2026-10-01', 'name: 0123')).toStrictEqual({ description: '2026-10-01' })
})

test('block scalars, anchors and repeated keys give one line', () => {
  expect(read('description: |', '  line1', '  line2')).toStrictEqual({ description: 'line1 line2' })
  expect(read('t: &t shared', 'description: *t')).toStrictEqual({ description: 'shared' })
  const repeated = ['description: old', 'description: |', '  new', '  text', 'type: user']
  expect(read(...repeated)).toStrictEqual({ description: 'new text', type: 'user' })
})

test('frontmatter with hundreds of marks is not given to the YAML parser', () => {
  const marks = (count: number): string => `other: [${'a,'.repeat(count)}]`
  const block = ['description: |', '  block', 'type: user']
  expect(read(...block, marks(200))).toStrictEqual({ description: 'block', type: 'user' })
  expect(read(...block, marks(400))).toStrictEqual({ type: 'user' })
})

test.each([
  ['nested aliases', ['a: &a [x, x]', ...bomb(20), 'description: Safe.', 'type: user']],
  ['many brackets', ['description: Safe.', `other: ${'['.repeat(5000)}`, 'type: user']],
  ['deep nesting', ['description: Safe.', `other: ${'- '.repeat(3000)}`, 'type: user']],
  ['much text', ['description: Safe.', `other: ${'"x": '.repeat(9000)}`, 'type: user']],
])('%s do not keep the reader from the rest', (_name, lines) => {
  expect(read(...lines)).toStrictEqual({ description: 'Safe.', type: 'user' })
})

function bomb(levels: number): string[] {
  return Array.from({ length: levels }, (_, level) => {
    const below = level === 0 ? 'a' : `b${level - 1}`
    return `b${level}: &b${level} [*${below}, *${below}, *${below}]`
  })
}

test.each([
  ['an undefined alias', ['b: &b [*a,*a]', 'description: *t']],
  ['nothing but brackets', [`description: ${'['.repeat(5000)}`]],
])('%s gives no object as text', (_name, lines) => {
  expect(read(...lines).description ?? '').not.toMatch(/object|\[\[/)
})

test('text is metadata only between two fences within the first 30 lines', () => {
  const body = Array.from({ length: 60 }, () => 'type: user').join('\n')
  expect(readManifestMetadata(`---\nname: a\ndescription: d\n${body}`)).toStrictEqual({})
  const fenceAt = (line: number): string => `---\ndescription: d\n${'x: 1\n'.repeat(line - 3)}---\n`
  expect(readManifestMetadata(fenceAt(45))).toStrictEqual({})
  expect(readManifestMetadata(fenceAt(31))).toStrictEqual({})
  expect(readManifestMetadata(fenceAt(30))).toStrictEqual({ description: 'd' })
  expect(readManifestMetadata('\n---\ndescription: d\n---\n')).toStrictEqual({})
  expect(readManifestMetadata('--- \ndescription: d\n---\n')).toStrictEqual({})
  expect(readManifestMetadata('---\n---\ndescription: d\n---\n')).toStrictEqual({})
  expect(readManifestMetadata('')).toStrictEqual({})
})

test('a document that is no mapping gives nothing', () => {
  expect(read('just text')).toStrictEqual({})
  expect(read('- description: d')).toStrictEqual({})
})
