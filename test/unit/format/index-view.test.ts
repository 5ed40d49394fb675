import { describe, expect, it } from 'vitest'
import { MemoryError } from '../../../src/errors.ts'
import {
  formatMemoryIndexContent,
  formatProjectMemoryIndexContent,
  viewIndex,
} from '../../../src/format/index-view.ts'
import { formatSize } from '../../../src/format/index-warning.ts'

const listing = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, i) => `- [T${i + from}](m${i + from}.md) — hook`).join('\n')
const recent = { lineLimit: 200, characterLimit: 25_000, overflow: 'recent' } as const
const head = { ...recent, overflow: 'head' } as const

describe('the plain index', () => {
  it('is trimmed, and empty when it says nothing', () => {
    expect(formatMemoryIndexContent('\n  a\nb \n\n')).toBe('a\nb')
    expect(formatMemoryIndexContent(' \n\t\n')).toBe('')
    expect(formatProjectMemoryIndexContent('---\na: 1\n---\n<!-- x -->\n')).toBe('')
  })

  it('keeps the first 200 of 201 lines and says so', () => {
    const text = formatMemoryIndexContent(listing(201))
    expect(
      text.startsWith(`${listing(200)}\n\n> WARNING: MEMORY.md is 201 lines (limit: 200).`),
    ).toBe(true)
    expect(text.split('\n')).toHaveLength(202)
    expect(formatMemoryIndexContent(listing(200))).toBe(listing(200))
  })

  it('keeps the first 25,000 of 25,600 characters of one line', () => {
    const text = formatMemoryIndexContent('x'.repeat(25_600))
    expect(
      text.startsWith(`${'x'.repeat(25_000)}\n\n> WARNING: MEMORY.md is 25KB (limit: 24.4KB)`),
    ).toBe(true)
    expect(formatMemoryIndexContent('x'.repeat(25_000))).toBe('x'.repeat(25_000))
  })

  it('cuts at the last line end that fits', () => {
    const lines = `${'a'.repeat(9)}\n${'b'.repeat(9)}\n${'c'.repeat(9)}`
    const cut = (characterLimit: number): string =>
      formatMemoryIndexContent(lines, { characterLimit }).split('\n\n')[0] ?? ''
    expect(cut(19)).toBe(`${'a'.repeat(9)}\n${'b'.repeat(9)}`)
    expect(cut(18)).toBe('a'.repeat(9))
    expect(cut(9)).toBe('a'.repeat(9))
    expect(cut(8)).toBe('a'.repeat(8))
  })

  it('names both sizes when both are exceeded', () => {
    const text = formatMemoryIndexContent(`${'x'.repeat(199)}\n`.repeat(300))
    expect(text).toContain('> WARNING: MEMORY.md is 300 lines and 58.6KB.')
  })

  it('writes sizes in steps of 1,024', () => {
    expect([999, 1024, 25_000, 25_600, 1_048_576, 3 * 1024 ** 3].map(formatSize)).toStrictEqual([
      '999 bytes',
      '1KB',
      '24.4KB',
      '25KB',
      '1MB',
      '3GB',
    ])
  })

  it('counts characters, not bytes', () => {
    const chinese = Array.from({ length: 100 }, () => '规'.repeat(120)).join('\n')
    expect(formatMemoryIndexContent(chinese)).toBe(chinese)
  })

  it('measures what is left after frontmatter and comments', () => {
    const comment = `<!--\n${'note\n'.repeat(28)}-->`
    const text = `---\ntitle: i\nowner: me\n---\n${comment}\n${listing(190)}\n`
    expect(formatProjectMemoryIndexContent(text)).toBe(listing(190))
    expect(formatMemoryIndexContent(text)).toContain('WARNING')
  })

  it('never ends inside a character', () => {
    const text = formatMemoryIndexContent(`${'x'.repeat(24_999)}🚀tail`)
    expect(text.startsWith(`${'x'.repeat(24_999)}\n\n>`)).toBe(true)
  })

  it.each([0, -1, 0.5, Number.NaN, '200', null])('refuses the limit %j', (limit) => {
    for (const field of ['lineLimit', 'characterLimit']) {
      const call = () => formatProjectMemoryIndexContent('x', { [field]: limit })
      if (limit === null) expect(call()).toBe('x')
      else {
        expect(call).toThrow(MemoryError)
        expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
        expect(call).toThrow(field)
      }
    }
  })
})

describe('the injected index', () => {
  it('is whole when it fits, and asks for no file time', () => {
    const view = viewIndex(`\ufeff# Head\r\n${listing(2)}\r\n- prose [x](m9.md)\r\n`, {
      ...recent,
      mtimeMsOf: () => {
        throw new TypeError('not needed')
      },
    })
    expect(view).toStrictEqual({
      text: `# Head\n${listing(2)}\n- prose [x](m9.md)`,
      warning: '',
      entryCount: 2,
      shownCount: 2,
      isTruncated: false,
      shownFileNames: new Set(['m0.md', 'm1.md']),
    })
  })

  it('is nothing for an empty index', () => {
    expect(viewIndex('\ufeff\r\n', recent)).toMatchObject({
      text: '',
      entryCount: 0,
      isTruncated: false,
    })
  })

  it('keeps the entries written last, in file order, and says how many', () => {
    const mtimeMsOf = (fileName: string): number | undefined =>
      fileName === 'm7.md' ? 9_000 : fileName === 'm3.md' ? undefined : 1_000
    const view = viewIndex(listing(20), { ...recent, lineLimit: 5, mtimeMsOf })
    expect([...view.shownFileNames]).toStrictEqual([
      'm7.md',
      'm16.md',
      'm17.md',
      'm18.md',
      'm19.md',
    ])
    expect(view).toMatchObject({ entryCount: 20, shownCount: 5, isTruncated: true })
    expect(view.warning).toMatch(
      /^> WARNING: MEMORY\.md is 20 lines \(limit: 5\)\. 5 of its 20 entries /,
    )
    expect(view.text.endsWith(`\n\n${view.warning}`)).toBe(true)
    const all = viewIndex(listing(20), { ...recent, lineLimit: 19, mtimeMsOf })
    expect(all.shownFileNames.has('m3.md')).toBe(false)
  })

  it('shows the newest line of a full index', () => {
    const index = `${listing(200)}\n- [Corrected](deploy-host-corrected.md) — deploy host is B\n`
    const view = viewIndex(index, {
      ...recent,
      mtimeMsOf: (name) => (name.startsWith('m') ? 1 : 2),
    })
    expect(view.shownFileNames.has('deploy-host-corrected.md')).toBe(true)
    expect(view.shownCount).toBe(200)
    expect(viewIndex(index, head).shownFileNames.has('deploy-host-corrected.md')).toBe(false)
  })

  it('keeps the first lines with overflow head', () => {
    const view = viewIndex(`# Head\n${listing(300)}`, head)
    expect(view.text.startsWith(`# Head\n${listing(199)}\n\n> WARNING`)).toBe(true)
    expect(view).toMatchObject({ entryCount: 300, shownCount: 199 })
    expect(view.warning).toContain('199 of its 300 entries are shown')
  })

  it('fills what the entries leave with headings, then blank lines', () => {
    const index = `# One\n\n${listing(2)}\n\n# Two\n\n${'x'.repeat(90)}\n\n${listing(2, 2)}\n`
    const view = viewIndex(index, { ...recent, characterLimit: 110 })
    expect(view.text.split('\n\n>')[0]).toBe(
      `# One\n\n${listing(2)}\n\n# Two\n\n\n${listing(2, 2)}`,
    )
  })

  it('keeps an entry with the lines below it, or its line alone, and passes over what is too long', () => {
    const index = `- [A](a.md)\n  ${'x'.repeat(100)}\n- [B](b.md) — ${'y'.repeat(300)}\n- [C](c.md)\n  more\n`
    const view = viewIndex(index, { ...recent, characterLimit: 60 })
    expect(view.text.startsWith('- [A](a.md)\n- [C](c.md)\n  more\n\n>')).toBe(true)
    expect([...view.shownFileNames]).toStrictEqual(['a.md', 'c.md'])
  })

  it('keeps good lines around one that is far too long', () => {
    const index = `${listing(2)}\n${'{"a":1}'.repeat(5_000)}\n${listing(5, 2)}\n`
    const view = viewIndex(index, recent)
    expect(view.shownCount).toBe(7)
    expect(view.text).toContain('WARNING')
    expect(formatProjectMemoryIndexContent(index).startsWith(`${listing(2)}\n\n>`)).toBe(true)
  })

  it('keeps a fence whole or leaves it out', () => {
    const index = `\`\`\`\n- [X](x.md)\n${'code\n'.repeat(10)}\`\`\`\n${listing(8)}\n`
    const view = viewIndex(index, { ...recent, lineLimit: 10 })
    expect(view.text.split('\n\n>')[0]).toBe(listing(8))
    expect(view.entryCount).toBe(8)
  })

  it('cuts free text and a single huge line like the plain form', () => {
    const prose = viewIndex('words\n'.repeat(300), recent)
    expect(prose.text.split('\n')).toHaveLength(202)
    expect(prose).toMatchObject({ entryCount: 0, shownCount: 0, isTruncated: true })
    const line = viewIndex(`${'x'.repeat(24_999)}🚀tail`, recent)
    expect(line.text.startsWith(`${'x'.repeat(24_999)}\n\n>`)).toBe(true)
    expect(viewIndex('🚀🚀', { ...recent, characterLimit: 1 }).text).toMatch(/^> WARNING/)
  })

  it('asks at most 5,000 times for file times, once per file', () => {
    const asked: string[] = []
    const mtimeMsOf = (fileName: string): number => asked.push(fileName)
    viewIndex(`${listing(5_000 - 1)}\n- [again](m0.md)`, { ...recent, mtimeMsOf })
    expect(asked).toHaveLength(4_999)
    const view = viewIndex(listing(5_001), { ...recent, mtimeMsOf })
    expect(asked).toHaveLength(4_999)
    expect(view.shownFileNames.has('m5000.md')).toBe(true)
    expect(view.shownFileNames.has('m4801.md')).toBe(true)
    expect(view.shownFileNames.has('m4800.md')).toBe(false)
  })

  it('treats a time that is no number as a missing file', () => {
    const view = viewIndex(listing(3), {
      ...recent,
      lineLimit: 1,
      mtimeMsOf: (name) => (name === 'm1.md' ? 1 : Number.NaN),
    })
    expect([...view.shownFileNames]).toStrictEqual(['m1.md'])
  })

  it('counts line ends between the chosen lines, and none after the last', () => {
    const index = '- [A](a.md)\n- [B](b.md)\n- [C](c.md)'
    const shown = (characterLimit: number) =>
      viewIndex(index, { ...recent, characterLimit }).shownCount
    expect([shown(22), shown(23), shown(34), shown(35)]).toStrictEqual([1, 2, 2, 3])
  })

  it('shows no byte order mark from the middle of joined files', () => {
    expect(viewIndex('- [A](a.md)\n\ufeff- [B](b.md)\ufeff\n', recent)).toMatchObject({
      text: '- [A](a.md)\n- [B](b.md)',
      entryCount: 2,
    })
  })

  it('counts an entry that was cut only when its link is whole', () => {
    const cut = (characterLimit: number) =>
      viewIndex(`- [A](a.md) — ${'x'.repeat(90)}`, { ...head, characterLimit }).shownCount
    expect([cut(10), cut(11), cut(30)]).toStrictEqual([0, 1, 1])
  })

  it('replaces lone surrogates and keeps the rest', () => {
    expect(viewIndex('- [A](a.md) — \ud83d!', recent).text).toBe('- [A](a.md) — \ufffd!')
  })
})
