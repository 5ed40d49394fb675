import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXCERPT_MAX_CHARS, searchFor } from '../../../src/commands/search.ts'

const DEPLOY = {
  title: '部署规则',
  description: '周五下午之后不部署到生产环境',
  body: '值班同事同意时除外。\nSee also the Release Checklist.\n',
}

function look(query: string, memory: Partial<typeof DEPLOY> = {}) {
  return searchFor(query)?.({ ...DEPLOY, ...memory })
}

describe('searching a memory', () => {
  test.each([
    ['checklist', ['body']],
    ['RELEASE checklist', ['body']],
    ['部署', ['title', 'description']],
    ['值班', ['body']],
    ['生产环境部署', ['title', 'description']],
    ['Ｒelease', ['body']],
    ['周五值班', ['description', 'body']],
    ['部署 checklist', ['title', 'description', 'body']],
  ])('finds %s in %j', (query, matched) => {
    expect(look(query)?.matched).toEqual(matched)
  })

  test.each(['missing', 'release missing', '周六部署', '部署 missing'])(
    'does not find %s',
    (query) => {
      expect(look(query)).toBeUndefined()
    },
  )

  test('ranks a match in the title above one in the text', () => {
    const inTitle = look('tide', { title: 'Tide table', body: '' })
    const inBody = look('tide', { body: 'the tide is high' })
    expect(inTitle?.score).toBeGreaterThan(inBody?.score ?? Infinity)
  })

  test('is no search without words', () => {
    expect(searchFor('  \n ')).toBeUndefined()
  })

  test('shows the line with the most words, cut around the match', () => {
    const body = `first line\n${'x '.repeat(100)}the needle ${'y '.repeat(100)}\n`
    const excerpt = look('needle', { body })?.excerpt ?? ''
    expect(excerpt).toContain('the needle')
    expect(excerpt).toMatch(/^….*…$/u)
    expect(look('first', { body })?.excerpt).toBe('first line')
    expect(look('checklist release')?.excerpt).toBe('See also the Release Checklist.')
  })

  test('gives one well-formed line within its length for any text and query', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (body, more) => {
          const query = body.slice(0, 3)
          const found = searchFor(query)?.({ title: '', description: '', body: `${more}${body}` })
          if (found === undefined) return
          expect(found.excerpt.length).toBeLessThanOrEqual(EXCERPT_MAX_CHARS)
          expect(found.excerpt).not.toContain('\n')
        },
      ),
    )
  })
})
