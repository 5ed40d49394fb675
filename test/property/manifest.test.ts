import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readManifestMetadata } from '../../src/subsystems/manifest/frontmatter.ts'
import { formatMemoryManifest } from '../../src/subsystems/manifest/index.ts'
import { toOneLine } from '../../src/subsystems/manifest/one-line.ts'
import { readOwnShape } from '../../src/subsystems/manifest/read-own-shape.ts'
import { readYaml } from '../../src/subsystems/manifest/read-yaml.ts'

const TYPES = ['user', 'feedback', 'project', 'reference'] as const
const LINE_BREAK = /[\n\r\v\f\u0085\u2028\u2029]/

const text = fc.string({ unit: 'binary', maxLength: 80 })
const anyText = fc.oneof(text, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary-ascii' }))

/** A double-quoted string as the writer makes it, sometimes with more escapes than needed. */
const quoted = fc
  .tuple(anyText, fc.boolean())
  .map(([value, isAscii]) =>
    isAscii
      ? JSON.stringify(value).replace(
          /[\u007F-\uFFFF]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
      : JSON.stringify(value),
  )

const ownShape = fc
  .record({
    name: quoted,
    description: quoted,
    type: fc.constantFrom(...TYPES),
    title: fc.option(quoted),
    originSessionId: fc.option(quoted),
  })
  .map(({ name, description, type, title, originSessionId }) =>
    [
      `name: ${name}`,
      `description: ${description}`,
      'metadata:',
      `  type: ${type}`,
      '  node_type: memory',
      title === null ? '' : `  title: ${title}`,
      originSessionId === null ? '' : `  originSessionId: ${originSessionId}`,
    ].filter((line) => line !== ''),
  )

/** Lines that are, or nearly are, of the written shape, in any order and number. */
const nearlyOwnShape = fc.array(
  fc.oneof(
    fc.constantFrom('metadata:', 'metadata: ', '', '# note', '  # note', 'type: user', '---'),
    fc
      .tuple(
        fc.constantFrom('', '  ', '    ', '\t'),
        fc.constantFrom('name', 'description', 'type', 'node_type', 'title', 'other'),
        fc.constantFrom(': ', ':', ':  ', ' : ', ': \t', ':\t'),
        fc.oneof(
          quoted,
          fc.constantFrom(
            'user',
            'null',
            'true',
            'yes',
            '"a" # b',
            '"a"b',
            "'a'",
            '"a" ',
            '"a"\t',
            '"a"\r',
            '\r"a"',
            '"\\x41"',
          ),
        ),
      )
      .map((parts) => parts.join('')),
  ),
  { maxLength: 8 },
)

/** Description and type as a reader found them, unusable values as absent. */
function found(raw: ReturnType<typeof readYaml>): unknown {
  const type = TYPES.find((value) => value === raw?.nestedType)
  const description = typeof raw?.description === 'string' ? raw.description : undefined
  return { description, type, topLevelType: raw?.topLevelType }
}

test('the fast reader accepts the written shape and agrees with the YAML reader', () => {
  fc.assert(
    fc.property(ownShape, (lines) => {
      const own = readOwnShape(lines)
      expect(own).toBeDefined()
      expect(found(own)).toStrictEqual(found(readYaml(lines)))
    }),
    { numRuns: 2000 },
  )
})

test('whatever the fast reader accepts, the YAML reader reads alike', () => {
  fc.assert(
    fc.property(nearlyOwnShape, (lines) => {
      const own = readOwnShape(lines)
      if (own !== undefined) expect(found(own)).toStrictEqual(found(readYaml(lines)))
    }),
    { numRuns: 5000 },
  )
})

test('any head gives one-line metadata of the right kind and never throws', () => {
  const yamlLike = fc
    .array(
      fc.constantFrom(
        'description',
        'metadata',
        'type',
        'user',
        ':',
        ': ',
        '\n',
        '\n  ',
        '\n\t',
        '- ',
        '"',
        "'",
        '|',
        '>',
        '&a ',
        '*a',
        '!!x ',
        '#',
        '{',
        '}',
        '[',
        ']',
        ',',
        '? ',
        '%',
        '---',
        '...',
        '\r\n',
        '\u2028',
        '\u0000',
        '<<: *a',
        'é',
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(anyText, yamlLike), fc.boolean(), (inner, isFenced) => {
      const metadata = readManifestMetadata(isFenced ? `---\n${inner}\n---\n` : inner)
      const { description, type, ...rest } = metadata
      expect(rest).toStrictEqual({})
      if ('type' in metadata) expect(TYPES).toContain(type)
      if ('description' in metadata) {
        expect(description).not.toBe('')
        expect(description).toBe(toOneLine(String(description)))
      }
    }),
    { numRuns: 5000 },
  )
})

test('one-line text is well-formed, has no line break, and stays the same', () => {
  const odd = fc
    .array(
      fc.oneof(
        fc.integer({ min: 0, max: 0xff_ff }).map((unit) => String.fromCharCode(unit)),
        fc.integer({ min: 0xe_00_00, max: 0xe_00_7f }).map((point) => String.fromCodePoint(point)),
        fc.constantFrom(
          '\u200D',
          '\u200C',
          '\u202E',
          '🏴',
          '👩',
          'a',
          ' ',
          '\n',
          '\uD83D',
          '\uDC69',
        ),
      ),
    )
    .map((units) => units.join(''))
  fc.assert(
    fc.property(odd, (value) => {
      const line = toOneLine(value)
      expect(toOneLine(line)).toBe(line)
      expect(line).not.toMatch(LINE_BREAK)
      expect(line).not.toMatch(/\p{Surrogate}|[\u202A-\u202E\u2066-\u2069]/u)
      expect(line).toBe(line.trim())
    }),
    { numRuns: 5000 },
  )
})

test('the formatted list has as many physical lines as entries', () => {
  const entry = fc.record({
    filePath: anyText,
    filename: anyText,
    mtimeMs: fc.oneof(fc.double(), fc.integer()),
    description: anyText,
    type: fc.constantFrom(...TYPES),
  })
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 8 }), (entries) => {
      const lines = formatMemoryManifest(entries).split(LINE_BREAK)
      expect(lines).toHaveLength(entries.length)
      for (const line of lines) expect(line).toMatch(/^- \[/)
    }),
  )
})
