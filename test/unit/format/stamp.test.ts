/** Stamping the frontmatter of files that a model wrote by hand. */
import { describe, expect, test } from 'vitest'
import { stampMemoryFile } from '../../../src/format/stamp.ts'

const stamp = (text: string): string => stampMemoryFile(text, 'session-1')
const file = (...header: string[]): string => ['---', ...header, '---', '', 'Body.', ''].join('\n')

describe('a file without an origin', () => {
  test('gets the node type first and the session last', () => {
    expect(stamp(file('name: staging', 'description: Rule.', 'metadata:', '  type: project'))).toBe(
      file(
        'name: staging',
        'description: Rule.',
        'metadata:',
        '  node_type: memory',
        '  type: project',
        '  originSessionId: "session-1"',
      ),
    )
  })

  test('gets a metadata key when it has none', () => {
    expect(stamp(file('name: staging', 'type: user'))).toBe(
      file(
        'name: staging',
        'type: user',
        'metadata:',
        '  node_type: memory',
        '  originSessionId: "session-1"',
      ),
    )
  })

  test.each([[[]], [['']], [['# nothing yet']]])(
    'gets a metadata key when its frontmatter is blank: %j',
    (lines) => {
      expect(stamp(file(...lines))).toBe(
        file(...lines, 'metadata:', '  node_type: memory', '  originSessionId: "session-1"'),
      )
    },
  )

  test.each(['null', '~', '""', '42', "''"])(
    'has a session that is %s replaced in its place',
    (value) => {
      expect(
        stamp(file('metadata:', `  originSessionId: ${value} # set later`, '  type: user')),
      ).toBe(
        file(
          'metadata:',
          '  node_type: memory',
          '  originSessionId: "session-1" # set later',
          '  type: user',
        ),
      )
    },
  )

  test('has an empty value filled', () => {
    expect(stamp(file('metadata:', '  originSessionId:', '  node_type: # ?', '  a: 1'))).toBe(
      file('metadata:', '  originSessionId: "session-1"', '  node_type: memory # ?', '  a: 1'),
    )
  })

  test('has another node type put right in its place', () => {
    expect(stamp(file('metadata:', '  type: user', '  node_type: note'))).toBe(
      file('metadata:', '  type: user', '  node_type: memory', '  originSessionId: "session-1"'),
    )
  })

  test('keeps a node type that is right as it is written', () => {
    expect(stamp(file('metadata:', "  node_type: 'memory'"))).toBe(
      file('metadata:', "  node_type: 'memory'", '  originSessionId: "session-1"'),
    )
  })
})

describe('everything else in the file', () => {
  test('stays byte for byte: comments, order, quotes, blank lines, wide indents', () => {
    const before = [
      '# who wrote this?',
      "name:   'staging'",
      '',
      'description: >-',
      '    folded',
      '    over lines',
      'metadata: # facts',
      '    # the kind',
      '    type: project   # always',
      '    links: [a,   b]',
      '    note: |+',
      '        kept',
      '',
      'after: 1',
    ]
    const after = [...before]
    after.splice(13, 0, '    originSessionId: "session-1"')
    after.splice(7, 0, '    node_type: memory')
    expect(stamp(file(...before))).toBe(file(...after))
  })

  test('stays unfolded when it is long', () => {
    const long = `description: ${'very long words '.repeat(30).trim()}`
    expect(stamp(file(long, 'metadata:', '  type: user'))).toContain(`\n${long}\n`)
  })

  test('keeps CRLF and the byte order mark', () => {
    const crlf = (text: string): string => `\ufeff${text.replaceAll('\n', '\r\n')}`
    expect(stamp(crlf(file('metadata:', '  type: user')))).toBe(
      crlf(
        file('metadata:', '  node_type: memory', '  type: user', '  originSessionId: "session-1"'),
      ),
    )
    expect(stamp(crlf(file('name: x')))).toBe(
      crlf(file('name: x', 'metadata:', '  node_type: memory', '  originSessionId: "session-1"')),
    )
  })

  test.each([
    ['{type: user}', '{node_type: memory, type: user, originSessionId: "session-1"}'],
    ['{ type: user, }', '{ node_type: memory, type: user, originSessionId: "session-1", }'],
    ['{node_type: x, a: [1]}', '{node_type: memory, a: [1], originSessionId: "session-1"}'],
    ['{}', '{ node_type: memory, originSessionId: "session-1" }'],
  ])('stays in flow style: metadata: %s', (before, after) => {
    expect(stamp(file(`metadata: ${before} # inline`, 'name: x'))).toBe(
      file(`metadata: ${after} # inline`, 'name: x'),
    )
  })

  test('keeps the body, fences in it too', () => {
    const body = '---\nname: not a header\n---\n'
    expect(stamp(`---\nname: x\n---\n${body}`).endsWith(`\n---\n${body}`)).toBe(true)
  })

  test('may end with the closing fence', () => {
    expect(stamp('---\nname: x\n---')).toBe(
      '---\nname: x\nmetadata:\n  node_type: memory\n  originSessionId: "session-1"\n---',
    )
  })
})

describe('a file that is left alone', () => {
  test('has an origin: the first author stays', () => {
    const own = file('metadata:', '  node_type: note', '  originSessionId: earlier')
    expect(stamp(own)).toBe(own)
    expect(stampMemoryFile(stamp(file('name: x')), 'session-2')).toBe(stamp(file('name: x')))
  })

  test('has an origin in the older flat layout', () => {
    const flat = file('name: x', 'type: user', 'originSessionId: earlier')
    expect(stamp(flat)).toBe(flat)
  })

  test.each([
    ['no frontmatter', 'Just text.\n'],
    ['an empty text', ''],
    ['an open frontmatter', '---\nname: x\n'],
    ['a blank after the opening fence', '--- \nname: x\n---\n'],
    ['a blank after the closing fence', '---\nname: x\n--- \n'],
    ['a fence that is longer', '---\nname: x\n----\n'],
    ['something before the fence', '\n---\nname: x\n---\n'],
    ['lone CR as line ends', '---\rname: x\r---\r'],
    ['metadata without a value', file('metadata:')],
    ['metadata that is text', file('metadata: text')],
    ['metadata that is a list', file('metadata:', '  - a')],
    ['metadata that is an alias', file('a: &m {b: 1}', 'metadata: *m')],
    ['metadata that others refer to', file('metadata: &m', '  a: 1', 'other: *m')],
    ['a key twice', file('name: x', 'name: y')],
    ['metadata twice', file('metadata:', '  a: 1', 'metadata:', '  b: 1')],
    ['broken YAML', file('name: "x')],
    ['an open quote as its session', file('metadata:', '  originSessionId: "')],
    ['a list', file('- a')],
    ['text', file('words')],
    ['a flow mapping without metadata', file('{name: x}')],
    ['a node type that is a list', file('metadata:', '  node_type: [a]')],
    ['explicit keys', file('metadata:', '  ? type', '  : user')],
    ['several documents', file('name: x', '...', 'name: y')],
    ['a longer line where the limit cuts', `---\n#${'x'.repeat(65_531)}\n---x\n---\n`],
    ['a header over the limit', file('name: x', `d: ${'x'.repeat(70_000)}`)],
  ])('has %s', (_what, text) => {
    expect(stamp(text)).toBe(text)
  })

  test.each(['', 'a\nb', 'caf\u00e9', '\ud800'])('when the session is %j', (sessionId) => {
    expect(stampMemoryFile(file('name: x'), sessionId)).toBe(file('name: x'))
  })
})
