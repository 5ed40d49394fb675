/** What holds for every text that is stamped. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { readMemoryHeader } from '../../src/format/memory-file.ts'
import { stampMemoryFile } from '../../src/format/stamp.ts'

const RUNS = { numRuns: 2_000 }

const scalar = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.string({ maxLength: 8 }), scalar, { maxKeys: 3 }),
)
const keys = fc.constantFrom(
  'type',
  'node_type',
  'title',
  'links',
  'modified',
  'originSessionId',
  'x y',
)
const metadata = fc.dictionary(keys, value, { maxKeys: 5 })
const header = fc.record(
  { name: scalar, description: scalar, metadata: fc.oneof(metadata, scalar), extra: value },
  { requiredKeys: [] },
)
const layout = fc.record({
  indent: fc.constantFrom(2, 3, 4, 8),
  collectionStyle: fc.constantFrom('any', 'block', 'flow'),
  lineWidth: fc.constantFrom(0, 20, 80),
  defaultStringType: fc.constantFrom(
    'PLAIN',
    'QUOTE_DOUBLE',
    'QUOTE_SINGLE',
    'BLOCK_LITERAL',
    'BLOCK_FOLDED',
  ),
})

/** Lines of pieces that matter to the format, in any order. */
const oddText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '---',
        '--- ',
        'metadata:',
        'metadata: {',
        '}',
        '  type: user',
        ' a: b',
        '- c',
      ),
      fc.constantFrom(
        'metadata: {a: 1}',
        '# c',
        '',
        '...',
        'a: |',
        '  originSessionId:',
        '? k',
        ': v',
      ),
      fc.constantFrom(
        '  node_type: x',
        'b: &q 1',
        'c: *q',
        '%YAML 1.1',
        "'",
        '\ttab',
        'metadata: *q',
      ),
      fc.string({ maxLength: 6 }),
    ),
    { maxLength: 9 },
  )
  .chain((lines) =>
    fc.constantFrom('\n', '\r\n').map((end) => ['---', ...lines, '---', 'body'].join(end)),
  )

/** Every character of `part` occurs in `whole` in the same order. */
function isSubsequence(part: string, whole: string): boolean {
  let at = 0
  for (let index = 0; index < whole.length; index += 1) {
    if (whole[index] === part[at]) at += 1
  }
  return at >= part.length
}

describe('stamping', () => {
  test('never throws, stays the same when done again, and never touches the body', () => {
    fc.assert(
      fc.property(fc.oneof(oddText, fc.string({ unit: 'binary' })), (text) => {
        const once = stampMemoryFile(text, 'session-1')
        if (once === text) return
        expect(stampMemoryFile(once, 'session-2')).toBe(once)
        expect(once.slice(-4)).toBe(text.slice(-4))
        expect(readMemoryHeader(once).originSessionId).toBe('session-1')
      }),
      RUNS,
    )
  })

  test('adds two values to a header and changes no other', () => {
    let stamped = 0
    fc.assert(
      fc.property(header, layout, fc.boolean(), (values, style, isCrlf) => {
        const yaml = stringify(values, style as never)
        const text = `---\n${yaml}---\nBody.\n`.replaceAll('\n', isCrlf ? '\r\n' : '\n')
        const result = stampMemoryFile(text, 'session-1')
        if (result === text) return
        stamped += 1
        const before = parse(yaml) as typeof values
        const after = parse(result.split(/^---\r?$/m)[1] ?? '')
        const inner = typeof before.metadata === 'object' ? before.metadata : {}
        expect(after).toEqual({
          ...before,
          metadata: { ...inner, node_type: 'memory', originSessionId: 'session-1' },
        })
        const isPut =
          Object.hasOwn(inner ?? {}, 'node_type') || Object.hasOwn(inner ?? {}, 'originSessionId')
        if (!isPut) expect(isSubsequence(text, result)).toBe(true)
      }),
      RUNS,
    )
    expect(stamped).toBeGreaterThan(RUNS.numRuns / 10)
  })
})
