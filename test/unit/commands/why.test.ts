import { describe, expect, test } from 'vitest'
import { explainInjection, omittedLines, sizeOfText } from '../../../src/commands/why.ts'
import { viewIndex } from '../../../src/format/index-view.ts'
import type { IndexOverflow } from '../../../src/types.ts'

function lines(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `- [Memory ${index}](m${index}.md) — hook`)
}

function omittedOf(
  text: string,
  lineLimit: number,
  overflow: IndexOverflow = 'recent',
  length = 25_000,
) {
  const view = viewIndex(text, {
    lineLimit,
    characterLimit: length,
    overflow,
    mtimeMsOf: (fileName) => Number(/\d+/.exec(fileName)?.[0] ?? 0),
  })
  return omittedLines(text, view)
}

describe('the size of a text', () => {
  test.each([
    ['', 0, 0],
    ['abcd', 4, 1],
    ['abcde', 5, 2],
    ['部署规则', 4, 4],
    ['部署 abcd', 7, 4],
    ['👍', 2, 1],
  ])('%j has %d characters and about %d tokens', (text, characters, tokens) => {
    expect(sizeOfText(text)).toEqual({ characters, tokens })
  })
})

describe('what was left out of an index', () => {
  test('is nothing when it fits', () => {
    expect(omittedOf(`# Notes\n\n${lines(3).join('\n')}\n`, 200)).toEqual([])
  })

  test('is nothing when only blanks around the text went', () => {
    expect(omittedOf(`\n  ${lines(2).join('\n')}  \n\n`, 200)).toEqual([])
  })

  test('is told with its reason: header, comments, and what did not fit', () => {
    const text = `---\ntitle: x\n---\n<!-- secret -->\n\n${lines(4).join('\n')}\n`
    expect(omittedOf(text, 2)).toEqual([
      { line: '---', reason: 'frontmatter' },
      { line: 'title: x', reason: 'frontmatter' },
      { line: '---', reason: 'frontmatter' },
      { line: '<!-- secret -->', reason: 'comment' },
      { line: lines(4)[0], reason: 'over-limit' },
      { line: lines(4)[1], reason: 'over-limit' },
    ])
  })

  test('is the end when the first lines stay', () => {
    const [, , third, fourth] = lines(4)
    expect(omittedOf(lines(4).join('\r\n'), 2, 'head')).toEqual([
      { line: third, reason: 'over-limit' },
      { line: fourth, reason: 'over-limit' },
    ])
  })

  test('names a line of which only the beginning fitted', () => {
    const long = 'word '.repeat(50).trim()
    expect(omittedOf(`${long}\nnext`, 200, 'head', 100)).toEqual([
      { line: long, reason: 'cut' },
      { line: 'next', reason: 'over-limit' },
    ])
  })

  test('together with what was given is every line, each once', () => {
    const text = [...lines(30), 'prose', '', ...lines(5), '<!-- note -->'].join('\n')
    for (const limit of [1, 3, 10, 20, 33]) {
      for (const overflow of ['recent', 'head'] as const) {
        const view = viewIndex(text, { lineLimit: limit, characterLimit: 600, overflow })
        const index = { kind: 'shown' as const, text: '', indexText: text, view }
        const outcome = explainInjection({
          audience: 'session',
          project: { root: '', indexFilePath: '', slug: '', hash: '', projectRoot: '' },
          settings: { indexLineLimit: limit, indexCharacterLimit: 600, overflow },
          guidance: '',
          index,
        })
        const told = [...outcome.shown, ...outcome.omitted.map(({ line }) => line)]
        expect(told.toSorted()).toEqual(text.split('\n').filter(Boolean).toSorted())
        expect(outcome.entries).toEqual({ shown: view.shownCount, total: 35 })
      }
    }
  })
})
