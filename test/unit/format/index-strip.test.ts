import { describe, expect, it } from 'vitest'
import {
  stripLeadingFrontmatter,
  stripTopLevelHtmlComments,
} from '../../../src/format/index-strip.ts'

const entries = '- [A](a.md) — x\n- [B](b.md) — y\n'

describe('leading frontmatter', () => {
  it('goes when it is a YAML mapping or empty, with the blank lines below', () => {
    expect(stripLeadingFrontmatter(`---\ntitle: i\n---\n\n\n${entries}`)).toBe(entries)
    expect(stripLeadingFrontmatter(`---\n---\n${entries}`)).toBe(entries)
    expect(stripLeadingFrontmatter(`---\n\n---\n${entries}`)).toBe(entries)
    expect(stripLeadingFrontmatter('---\na: 1\n---')).toBe('')
    expect(stripLeadingFrontmatter('---\na: 1\n---\n  indented')).toBe('  indented')
  })

  it('goes behind a byte order mark and with CRLF', () => {
    expect(stripLeadingFrontmatter('\ufeff---\r\ntitle: i\r\n---\r\n- [A](a.md) — x\r\n')).toBe(
      '- [A](a.md) — x\r\n',
    )
  })

  it.each([
    `---\n${entries}`,
    `----\n- [A](a.md)\n----\n- [B](b.md)\n`,
    `---\n- [A](a.md)\n---\n- [B](b.md)\n`,
    `---\n* [A](a.md): x\n---\n- [B](b.md)\n`,
    `---\nlinks:\n  - a.md: x\n---\n- [B](b.md)\n`,
    `--- notes ---\n${entries}---\n`,
    `--- \ntitle: i\n---\n${entries}`,
    `---\ntitle: i\n--- \n${entries}`,
    `---\n# Heading\n---\n${entries}`,
    `---\nplain words\n---\n${entries}`,
    `---\na: [\n---\n${entries}`,
    `---\na: 1\na: 2\n---\n${entries}`,
    `\n---\ntitle: i\n---\n${entries}`,
    `---\nk: a---b\n`,
    '---',
    '',
  ])('stays in doubt: %j', (text) => {
    expect(stripLeadingFrontmatter(text)).toBe(text)
  })
})

describe('top-level HTML comments', () => {
  it('go as lines, blocks, and between list items and paragraphs', () => {
    expect(stripTopLevelHtmlComments(`<!-- a -->\n${entries}`)).toBe(entries)
    expect(stripTopLevelHtmlComments('- a\n<!-- x\ny -->\n- b\n')).toBe('- a\n- b\n')
    expect(stripTopLevelHtmlComments('word\n<!-- x -->\nword\n')).toBe('word\nword\n')
    expect(stripTopLevelHtmlComments('<!-- a --><!-- b -->\nx')).toBe('x')
    expect(stripTopLevelHtmlComments('   <!-- a -->\nx')).toBe('x')
  })

  it('leave the text after them on their line', () => {
    expect(stripTopLevelHtmlComments('<!-- a --> keep <!-- b --> me\nx')).toBe(' keep  me\nx')
    expect(stripTopLevelHtmlComments('<!--> keep -->\nx')).toBe(' keep -->\nx')
    expect(stripTopLevelHtmlComments('<!---> keep -->\nx')).toBe(' keep -->\nx')
    expect(stripTopLevelHtmlComments('<!-- a --> keep <!-- me\nx')).toBe(' keep <!-- me\nx')
  })

  it('stay in code, quotes, lists, paragraphs and other HTML', () => {
    const kept = [
      '````md',
      '```html',
      '<!-- keep A -->',
      '```',
      '<!-- keep B -->',
      '````',
      '',
      '    <!-- keep C -->',
      '',
      '> <!-- keep D -->',
      '',
    ].join('\n')
    expect(stripTopLevelHtmlComments(`${kept}\n<!-- drop\nthis -->\n- [X](x.md) — y`)).toBe(
      `${kept}\n- [X](x.md) — y`,
    )
    for (const text of [
      '- a\n  <!-- keep -->\n- b\n',
      'para <!-- keep --> graph\n',
      '<div>\n<!-- keep -->\n</div>\n',
      '<!-- never closed\n- [A](a.md)\n',
      '~~~\n<!-- keep -->\n~~~\n',
    ]) {
      expect(stripTopLevelHtmlComments(text)).toBe(text)
    }
  })

  it('stay when lists or quotes nest so deep that a parser could run out of stack', () => {
    const steps = Array.from({ length: 100 }, (_, depth) => `${'  '.repeat(depth)}- a\n`).join('')
    for (const deep of [`${'> '.repeat(5_000)}a\n`, `${'- '.repeat(5_000)}a\n`, steps]) {
      const text = `<!-- a -->\n${deep}`
      expect(stripTopLevelHtmlComments(text)).toBe(text)
    }
    expect(stripTopLevelHtmlComments(`<!-- a -->\n${'> '.repeat(10)}a\n`)).toBe(
      `${'> '.repeat(10)}a\n`,
    )
  })

  it('stay when one list item goes on for thousands of lines, not when a list is long', () => {
    for (const item of ['- a\n', '  1. a\n', '> * a\n']) {
      const text = `<!-- a -->\n${item}${'  x\n\n'.repeat(1_000)}`
      expect(stripTopLevelHtmlComments(text)).toBe(text)
    }
    for (const item of ['- a\n', '  1. a\n']) {
      const list = `${item}  x\n`.repeat(1_200)
      expect(stripTopLevelHtmlComments(`<!-- a -->\n${list}`)).toBe(list)
    }
    const prose = `- a\n\n${'words\n'.repeat(3_000)}`
    expect(stripTopLevelHtmlComments(`<!-- a -->\n${prose}`)).toBe(prose)
  })

  it('stay when a quote goes on for hundreds of lines, also by lines without a mark', () => {
    for (const line of ['> a\nb\n', '> a\n>> b\n', '> - a\nb\n', '- > a\n  b\n']) {
      const text = `<!-- a -->\n${line.repeat(101)}`
      expect(stripTopLevelHtmlComments(text)).toBe(text)
      const quotes = `${line.repeat(90)}\n`.repeat(3)
      expect(stripTopLevelHtmlComments(`<!-- a -->\n${quotes}`)).toBe(quotes)
    }
  })

  it('stay in a text of more than 100,000 characters', () => {
    const entry = '- [a](a.md) — b\n'
    const short = entry.repeat(6_000)
    expect(stripTopLevelHtmlComments(`<!-- a -->\n${short}`)).toBe(short)
    const long = `<!-- a -->\n${entry.repeat(7_000)}`
    expect(stripTopLevelHtmlComments(long)).toBe(long)
  })

  it('keep every other byte, also CR and a byte order mark without a comment', () => {
    for (const text of ['\ufeffa\r\nb <!-- c -->\r\n', 'a\tb\r\n', '']) {
      expect(stripTopLevelHtmlComments(text)).toBe(text)
    }
    expect(stripTopLevelHtmlComments('\ufeff<!-- a -->\r\nb\tc\r\n')).toBe('\ufeffb\tc\n')
  })
})
