import { expect, test } from 'vitest'
import { formatMemoryManifest, type ManifestEntry } from '../../../src/subsystems/manifest/index.ts'
import { toOneLine } from '../../../src/subsystems/manifest/one-line.ts'

function line(entry: Partial<ManifestEntry>): string {
  return formatMemoryManifest([{ filePath: '/m/a.md', filename: 'a.md', mtimeMs: 0, ...entry }])
}

test('a line names type, file, time and description, and leaves out what is unknown', () => {
  const mtimeMs = Date.UTC(2026, 8, 22, 5, 5)
  expect(line({ mtimeMs, type: 'project', description: 'Why.' })).toBe(
    '- [project] a.md (2026-09-22T05:05:00.000Z): Why.',
  )
  expect(line({ mtimeMs })).toBe('- a.md (2026-09-22T05:05:00.000Z)')
  expect(line({ description: ' \n ' })).toBe('- a.md (1970-01-01T00:00:00.000Z)')
  expect(formatMemoryManifest([])).toBe('')
})

test('entries from elsewhere cannot add a line or an unknown type', () => {
  const type = 'x]\n- [user' as 'user'
  expect(line({ type, filename: 'a\r\nb.md', description: 'c\u2028d\u0085e\vf' })).toBe(
    '- a b.md (1970-01-01T00:00:00.000Z): c d e f',
  )
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 9e15, -9e15])(
  'the time %d, which no date can express, is shown as the epoch',
  (mtimeMs) => {
    expect(line({ mtimeMs })).toBe('- a.md (1970-01-01T00:00:00.000Z)')
  },
)

test.each([
  ['controls and runs of blanks', ' a\t\u0000\u009F b\u3000\u00A0c ', 'a b c'],
  ['direction characters', 'a\u202Eb\u2066c\u2069\u200Fd\u061Ce', 'abcde'],
  ['zero-width characters', 'a\u200Bb\u2060c\uFEFFd\u00ADe\u180Ef', 'abcdef'],
  ['a removed character between blanks', 'a \u200B b', 'a b'],
  ['hidden tag characters', 'a\u{E0041}\u{E0042}b', 'ab'],
  [
    'a flag of tag characters',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}',
  ],
  [
    'joiners within words and emoji',
    'می\u200Cخواهم 👩\u200D🚀 ❤\uFE0F\u200D🔥',
    'می\u200Cخواهم 👩\u200D🚀 ❤\uFE0F\u200D🔥',
  ],
  ['joiners elsewhere', 'a \u200Db\u200D 1\u200C2', 'a b 12'],
  ['half a surrogate pair', 'a\uD83Db\uDE00', 'a\uFFFDb\uFFFD'],
  ['text in any script', '部署规则 — “é” 🚀', '部署规则 — “é” 🚀'],
])('%s in one line', (_name, text, wanted) => {
  expect(toOneLine(text)).toBe(wanted)
})
