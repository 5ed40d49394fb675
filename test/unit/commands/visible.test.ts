import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { visibleJson, visibleLine, visibleText } from '../../../src/commands/visible.ts'

/** What a terminal acts on or a reader cannot see, whatever else is allowed. */
const ACTS = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u

describe('text on a screen', () => {
  test.each([
    ['\u001b[31mred', String.raw`\u{1b}[31mred`],
    ['a\u0007b\u009bc\u007f', String.raw`a\u{7}b\u{9b}c\u{7f}`],
    ['user\u202etxt.exe', String.raw`user\u{202e}txt.exe`],
    ['\u2066a\u2069\u200e\u061c', String.raw`\u{2066}a\u{2069}\u{200e}\u{61c}`],
    ['zero\u200bwidth\ufeff', String.raw`zero\u{200b}width\u{feff}`],
    ['tag\u{e0041}', String.raw`tag\u{e0041}`],
    ['\ud800', String.raw`\u{d800}`],
    ['a\u2028b', String.raw`a\u{2028}b`],
    ['\u200dstray', String.raw`\u{200d}stray`],
  ])('names what acts or hides: %j', (text, shown) => {
    expect(visibleLine(text)).toBe(shown)
  })

  test.each([
    'plain',
    '部署规则，周五',
    'naïve — “quoted”',
    '👩‍👩‍👧 🏳️‍🌈',
    '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    'نمی‌دانم',
    'ひらがな カタカナ',
  ])('leaves %s alone', (text) => {
    expect(visibleLine(text)).toBe(text)
    expect(visibleText(text)).toBe(text)
  })

  test('names line breaks and tabs in a line, keeps them in a text, and takes CRLF for a break', () => {
    expect(visibleLine('a\nb\tc\r')).toBe(String.raw`a\u{a}b\u{9}c\u{d}`)
    expect(visibleText('a\r\nb\tc\rd')).toBe(`a\nb\tc${String.raw`\u{d}`}d`)
  })

  test('lets nothing through that acts on a terminal, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visibleLine(text)).not.toMatch(ACTS)
        expect(visibleText(text).replaceAll(/[\n\t]/g, '')).not.toMatch(ACTS)
      }),
    )
  })
})

describe('JSON on a screen', () => {
  test('is parsed back to exactly the value, and nothing in it acts on a terminal', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = visibleJson(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(text.replaceAll('\n', '')).not.toMatch(ACTS)
      }),
    )
  })

  test('escapes direction overrides and C1 controls, which plain JSON leaves raw', () => {
    const text = visibleJson({ title: '\u202e\u009b\u{e0041}' })
    expect(text).toContain(String.raw`"\u202e\u009b\udb40\udc41"`)
  })
})
