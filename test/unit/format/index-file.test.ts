import { describe, expect, it } from 'vitest'
import {
  removeIndexEntry,
  restoreIndexEntry,
  textCodec,
  upsertIndexEntries,
  upsertIndexEntry,
  utf8BytesCodec,
} from '../../../src/format/index-file.ts'

const entry = (fileName: string, hook = '', title = fileName.replace('.md', '')) => ({
  title,
  fileName,
  hook,
})

describe('writing entries', () => {
  it('replaces a line in place and adds one at the end, and leaves the rest', () => {
    const text =
      '# My notes\n\n## Build\n* [Build](build.md) -- use pnpm\n\nfree text, keep me\n\n## Links\n- [Jira](jira.md): board\n'
    const result = upsertIndexEntries(text, [entry('build.md', 'use pnpm 9'), entry('other.md')])
    expect(result.replaced).toStrictEqual([true, false])
    expect(result.text).toBe(
      '# My notes\n\n## Build\n* [build](build.md) — use pnpm 9\n\nfree text, keep me\n\n## Links\n- [Jira](jira.md): board\n- [other](other.md)\n',
    )
  })

  it('takes patterns of String.replace literally', () => {
    const hook = "code `7$` then $$ and $& and $1 and $'"
    const text = upsertIndexEntry(
      '# Head\n- [A](a.md) — old\n- [B](b.md) — b\n',
      entry('a.md', hook, 'A'),
    )
    expect(text).toBe(`# Head\n- [A](a.md) — ${hook}\n- [B](b.md) — b\n`)
  })

  it('makes one line of duplicates and loses none of the lines below them', () => {
    const text =
      '- [B](b.md) — 1\n  detail 1\n- [C](c.md)\n* [B again](./b.md)\n  detail 2\n- [D](d.md)\n- b.md: 3\n\tdetail 3'
    const once = upsertIndexEntries(text, [entry('b.md', 'new')])
    expect(once.replaced).toStrictEqual([true])
    expect(once.text).toBe(
      '- [b](b.md) — new\n  detail 1\n  detail 2\n\tdetail 3\n- [C](c.md)\n- [D](d.md)\n',
    )
    expect(upsertIndexEntry(once.text, entry('b.md', 'new'))).toBe(once.text)
  })

  it('keeps CRLF, a byte order mark and a missing last line ending where they are', () => {
    expect(upsertIndexEntry('\ufeff- [A](a.md)\r\n- [B](b.md)\r\n', entry('a.md', 'x', 'A'))).toBe(
      '\ufeff- [A](a.md) — x\r\n- [B](b.md)\r\n',
    )
    expect(upsertIndexEntry('- [A](a.md)\r\n- [B](b.md)', entry('c.md'))).toBe(
      '- [A](a.md)\r\n- [B](b.md)\r\n- [c](c.md)\r\n',
    )
    expect(upsertIndexEntry('- [A](a.md)', entry('a.md', 'x', 'A'))).toBe('- [A](a.md) — x')
    expect(upsertIndexEntry('text', entry('c.md'))).toBe('text\n- [c](c.md)\n')
  })

  it('adds after the last line that is not blank', () => {
    expect(upsertIndexEntry('', entry('a.md'))).toBe('- [a](a.md)\n')
    expect(upsertIndexEntry('\ufeff', entry('a.md'))).toBe('\ufeff- [a](a.md)\n')
    expect(upsertIndexEntry(' \n\n', entry('a.md'))).toBe('- [a](a.md)\n \n\n')
    expect(upsertIndexEntry('x\n\n \t\n', entry('a.md'))).toBe('x\n- [a](a.md)\n\n \t\n')
    expect(upsertIndexEntry('- [a](b.md)\n  detail\n\n', entry('a.md'))).toBe(
      '- [a](b.md)\n  detail\n- [a](a.md)\n\n',
    )
  })

  it('adds before a fence or comment that is still open', () => {
    for (const open of [
      '```\ncode',
      '~~~~ x\n~~~\n',
      '<!-- never closed\n\ntext',
      '```\na\n```\n<!--',
    ]) {
      const start = open.startsWith('```\na') ? '```\na\n```\n'.length : 0
      const text = `- [b](b.md)\n\n${open}`
      const at = '- [b](b.md)\n\n'.length + start
      expect(upsertIndexEntry(text, entry('a.md'))).toBe(
        `${text.slice(0, at)}- [a](a.md)\n${text.slice(at)}`,
      )
    }
    expect(upsertIndexEntry('  ```\ncode', entry('a.md'))).toBe('-   [a](a.md)\n  ```\ncode')
    expect(upsertIndexEntry('- [b](b.md)\n  ```\n  open in an item', entry('a.md'))).toBe(
      '- [b](b.md)\n  ```\n  open in an item\n- [a](a.md)\n',
    )
  })

  it('writes several in call order, the last of one file for all', () => {
    const result = upsertIndexEntries('- [b](b.md)\n', [
      entry('x.md', '1'),
      entry('b.md', '2'),
      entry('y.md', '3'),
      entry('x.md', '4'),
    ])
    expect(result).toStrictEqual({
      text: '- [b](b.md) — 2\n- [x](x.md) — 4\n- [y](y.md) — 3\n',
      replaced: [false, true, false, true],
    })
    expect(upsertIndexEntries('- x', [])).toStrictEqual({ text: '- x', replaced: [] })
  })

  it('replaces and adds when the last line is a duplicate without line ending', () => {
    const text = '- [a](a.md)\n- [b](b.md)\n- [a](a.md)'
    expect(upsertIndexEntries(text, [entry('a.md'), entry('c.md')]).text).toBe(
      '- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n',
    )
  })

  it('does not touch bytes that are no UTF-8', () => {
    const gbk = `- [A](a.md) — ${Buffer.from([0xb2, 0xbf, 0xca, 0xf0]).toString('latin1')}\n- [B](b.md)\n`
    const { text } = upsertIndexEntries(gbk, [entry('b.md', '部署')], utf8BytesCodec)
    expect(text).toBe(gbk.replace('- [B](b.md)', utf8BytesCodec.encode('- [b](b.md) — 部署')))
  })
})

describe('taking entries out', () => {
  const text = '# H\n- [A](a.md)\n- [B](b.md) — ä\n  more\n\n  apart\n- [C](c.md)\n- b.md: twice'

  it('removes every line of the file with the lines that belong to it', () => {
    expect(removeIndexEntry(text, 'b.md')).toStrictEqual({
      text: '# H\n- [A](a.md)\n\n  apart\n- [C](c.md)\n',
      removed: [
        { line: '- [B](b.md) — ä\n  more\n', after: 'a.md' },
        { line: '- b.md: twice', after: 'c.md' },
      ],
    })
    expect(removeIndexEntry(text, 'a.md').removed).toStrictEqual([
      { line: '- [A](a.md)\n', after: undefined },
    ])
    expect(removeIndexEntry(text, 'missing.md')).toStrictEqual({ text, removed: [] })
  })

  it('keeps a nested entry of another file', () => {
    expect(removeIndexEntry('- [A](a.md)\n  x\n  - [B](b.md)\n', 'a.md').text).toBe(
      '  - [B](b.md)\n',
    )
  })

  it('keeps a plain list item and what belongs to it', () => {
    const rest = '- plain\n  detail\n'
    expect(removeIndexEntry(`- [A](a.md)\n${rest}`, 'a.md').text).toBe(rest)
    expect(removeIndexEntry(`   - [A](a.md)\n  \`\`\`\n${rest}`, 'a.md').text).toBe(
      `  \`\`\`\n${rest}`,
    )
  })

  it('removes a fence that belongs to the entry whole', () => {
    const fenced = '- [A](a.md)\n  ```\n\n  code\n  ```\n  end\n- [B](b.md)\n'
    expect(removeIndexEntry(fenced, 'a.md').text).toBe('- [B](b.md)\n')
  })

  it.each([
    ['plain text', textCodec],
    ['a view of the bytes', utf8BytesCodec],
  ])('puts an entry back where it was in %s', (_, codec) => {
    const index = codec.encode('# H\n- [A](a.md)\n- [B](b.md) — ä\n  more\n- [C](c.md)\n\nend\n')
    for (const fileName of ['a.md', 'b.md', 'c.md']) {
      const { text: without, removed } = removeIndexEntry(index, fileName, codec)
      const [only] = removed
      expect(without).not.toBe(index)
      expect(only && restoreIndexEntry(without, only, codec)).toBe(index)
    }
  })

  it('puts an entry at the end when the one before it is gone', () => {
    const removed = { line: '- [B](b.md)', after: 'a.md' }
    expect(restoreIndexEntry('- [C](c.md)', removed)).toBe('- [C](c.md)\n- [B](b.md)\n')
    const nested = { line: '  - [B](b.md)\n    more\n', after: 'a.md' }
    expect(restoreIndexEntry('- ```\n', nested)).toBe('- ```\n- [B](b.md)\n    more\n')
    expect(restoreIndexEntry('  ```\n', nested)).toBe('-   [B](b.md)\n    more\n  ```\n')
    expect(restoreIndexEntry('', { line: '- [B](b.md)', after: undefined })).toBe('- [B](b.md)\n')
  })
})
