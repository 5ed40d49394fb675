import { describe, expect, test } from 'vitest'
import { findByName } from '../../../src/commands/find.ts'

const ITEMS = [
  { fileName: 'staging-rule.md', title: 'Staging rule' },
  { fileName: 'memory-9c31a6.md', title: '部署规则' },
  { fileName: 'twin.md', title: 'Same title' },
  { fileName: 'twin-2.md', title: 'Same title' },
  { fileName: 'Old.md', title: 'Release notes' },
]

function fileOf(name: string): string | undefined {
  const found = findByName(ITEMS, name)
  return found.kind === 'found' ? found.item.fileName : undefined
}

describe('finding a memory by name', () => {
  test.each([
    ['staging-rule.md', 'staging-rule.md'],
    ['Staging rule', 'staging-rule.md'],
    ['  staging RULE ', 'staging-rule.md'],
    ['"Staging rule"', 'staging-rule.md'],
    ['“部署规则”', 'memory-9c31a6.md'],
    ['部署规则', 'memory-9c31a6.md'],
    ['memory-9c31a6', 'memory-9c31a6.md'],
    ['old.md', 'Old.md'],
  ])('%s is %s', (name, fileName) => {
    expect(fileOf(name)).toBe(fileName)
  })

  test('tells all memories that share a title instead of choosing one', () => {
    expect(findByName(ITEMS, 'same title')).toEqual({
      kind: 'ambiguous',
      candidates: [
        { fileName: 'twin.md', title: 'Same title' },
        { fileName: 'twin-2.md', title: 'Same title' },
      ],
    })
    expect(fileOf('twin.md')).toBe('twin.md')
  })

  test('takes the one whose title is spelled exactly so before others of its topic', () => {
    const items = [
      { fileName: 'one.md', title: 'q3-report' },
      { fileName: 'two.md', title: 'Q3 Report' },
    ]
    expect(findByName(items, 'Q3 Report')).toEqual({ kind: 'found', item: items[1] })
    expect(findByName(items, 'q3 report').kind).toBe('ambiguous')
  })

  test('names the closest ones when there is none', () => {
    const found = findByName(ITEMS, 'staging rules')
    expect(found.kind).toBe('missing')
    expect('candidates' in found && found.candidates[0]).toEqual({
      fileName: 'staging-rule.md',
      title: 'Staging rule',
    })
    expect(findByName([], 'anything')).toEqual({ kind: 'missing', candidates: [] })
  })
})
