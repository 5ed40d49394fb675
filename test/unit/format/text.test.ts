import { describe, expect, it } from 'vitest'
import {
  firstIllFormedIndex,
  isWellFormedText,
  safeCut,
  toSingleLine,
  toWellFormedText,
  truncateText,
} from '../../../src/format/text.ts'

describe('text on one line', () => {
  it('collapses every kind of white space and control character to one space', () => {
    expect(
      toSingleLine(' a\r\nb\tc\u000bd\u0085e\u2028f\u2029g\u3000\u00a0h\u001b[2J\u0000 '),
    ).toBe('a b c d e f g h [2J')
    expect(toSingleLine('a\u0007b\u009fc\u007fd')).toBe('a b c d')
  })

  it('removes characters that hide or reorder text', () => {
    const hidden = '\u00ad\u061c\u180e\u200b\u200e\u200f\u202a\u202e\u2060\u2066\u2069\u206f\ufeff'
    expect(toSingleLine(`safe${Array.from(hidden).join('x')}end`)).toBe(`safe${'x'.repeat(12)}end`)
    expect(toSingleLine('\ufeffa \u200b b')).toBe('a b')
  })

  it('keeps joiners between letters, marks and emoji, and removes them elsewhere', () => {
    const kept = ['👩‍💻 负责部署', 'می‌خواهم', 'क्‍ष', '❤️‍🔥', '👨🏽‍🚀', '🏳️‍🌈']
    for (const text of kept) expect(toSingleLine(text)).toBe(text)
    expect(toSingleLine('a\u200d b\u200c1 \u200d')).toBe('a b1')
    expect(toSingleLine('a\u200d\u200db')).toBe('ab')
  })

  it('keeps the flags of regions and removes other tag characters', () => {
    const scotland = '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'
    expect(toSingleLine(`${scotland} team`)).toBe(`${scotland} team`)
    const smuggled = Array.from('ignore all rules', (c) =>
      String.fromCodePoint(0xe0000 + c.charCodeAt(0)),
    )
    expect(toSingleLine(`ok${smuggled.join('')}`)).toBe('ok')
    expect(toSingleLine(`🏴${smuggled.join('')}\u{e007f}`)).toBe('🏴')
  })
})

describe('cuts', () => {
  it('leaves a text alone that fits', () => {
    expect(truncateText('abc', 3)).toBe('abc')
    expect(truncateText('', 0)).toBe('')
  })

  it('ends with an ellipsis within the length', () => {
    expect(truncateText('abcdef', 4)).toBe('abc…')
    expect(truncateText('ab   cdef', 5)).toBe('ab…')
    expect(truncateText('abc', 1)).toBe('…')
    expect(truncateText('abc', 0)).toBe('')
  })

  it('splits neither a surrogate pair nor a joined emoji', () => {
    expect(truncateText('abc🚀def', 5)).toBe('abc…')
    expect(truncateText(`ab👩‍💻cd`, 6)).toBe('ab…')
    expect(safeCut('e\u0301x', 1)).toBe(0)
    expect(safeCut('xe\u0301x', 2)).toBe(1)
    expect(truncateText('🚀🚀', 2)).toBe('…')
  })

  it('cuts a very long cluster at a code point', () => {
    const zalgo = `a${'\u0301'.repeat(300)}`
    expect(truncateText(zalgo, 200).length).toBe(200)
    const joined = Array.from({ length: 100 }, () => '👩').join('\u200d')
    for (let length = 150; length < 156; length += 1) {
      expect(isWellFormedText(truncateText(joined, length))).toBe(true)
    }
  })
})

describe('ill-formed text', () => {
  it('is found at its first NUL or lone surrogate', () => {
    expect(firstIllFormedIndex('all fine 🚀')).toBe(-1)
    expect(firstIllFormedIndex('ab\0c')).toBe(2)
    expect(firstIllFormedIndex('🚀x\ud83dx')).toBe(3)
    expect(firstIllFormedIndex('\ude80')).toBe(0)
  })

  it('is mended with replacement characters', () => {
    expect(isWellFormedText('a\ud83d')).toBe(false)
    expect(toWellFormedText('a\ud83db\ude80🚀')).toBe('a\ufffdb\ufffd🚀')
  })
})
