import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { memoryFileNames, sanitizeMemorySlug, topicOfKey } from '../../../src/format/slug.ts'

const digits = (text: string, count = 6): string =>
  createHash('sha256').update(text, 'utf8').digest('hex').slice(0, count)

describe('file names of keys', () => {
  it('keeps plain words and joins them with dashes', () => {
    expect(sanitizeMemorySlug('Auth token refresh gotcha')).toBe('auth-token-refresh-gotcha')
    expect(sanitizeMemorySlug('Q3 Report')).toBe('q3-report')
    expect(sanitizeMemorySlug('q3_report')).toBe('q3_report')
    expect(sanitizeMemorySlug('  v1.2\trelease\n notes ')).toBe('v1.2-release-notes')
  })

  it('adds six digits of the key where foreign characters were dropped', () => {
    expect(sanitizeMemorySlug('部署规则')).toBe('memory-9c31a6')
    expect(sanitizeMemorySlug('Q3-Report!')).toBe(`q3-report-${digits('q3-report!')}`)
    expect(sanitizeMemorySlug(' 部署 规则 ')).toBe(`memory-${digits('部署 规则')}`)
    expect(sanitizeMemorySlug('a<b>c?')).toBe(`a-b-c-${digits('a<b>c?')}`)
  })

  it('gives seven files to seven keys without a plain letter', () => {
    const keys = ['🚀', '🎯', '❤️', '!!!', '...', '部署规则', '发布前检查']
    const names = keys.map((key) => memoryFileNames(key).preferred)
    expect(new Set(names).size).toBe(keys.length)
    for (const name of names) expect(name).toMatch(/^memory-[0-9a-f]{6}\.md$/)
  })

  it('never names the index', () => {
    for (const key of ['memory', 'MEMORY', 'Memory.md', ' memory.MD ']) {
      expect(memoryFileNames(key).preferred).toBe(`memory-memory-${digits('memory')}.md`)
    }
  })

  it('takes device names, hidden files and options out of their meaning', () => {
    expect(sanitizeMemorySlug('nul.txt')).toBe(`memory-nul-txt-${digits('nul.txt')}`)
    const odd = ['con', 'NUL', 'aux.', 'com1', 'com0', 'lpt9', 'con.部署', 'Desktop.', '.hidden']
    for (const key of [...odd, '-rf', '--', '..', 'nul.tar.gz']) {
      expect(sanitizeMemorySlug(key)).toMatch(/^memory-(?:[a-z0-9]+-)*[0-9a-f]{6}$/)
    }
    for (const key of ['console', 'null', 'com10', 'auxiliary.txt', 'memory-map']) {
      expect(sanitizeMemorySlug(key)).toBe(key)
    }
  })

  it('keeps names apart that differ only in edges that were dropped', () => {
    const keys = ['rf', '-rf', 'rf-', '.rf', 'rf.', '-rf-', 'rf!', '!rf', 'a:b', 'a-b', 'a;b']
    const names = keys.map((key) => memoryFileNames(key).preferred)
    expect(new Set(names).size).toBe(keys.length)
  })

  it('shortens a long key to 48 characters and digits, and knows its older name', () => {
    const key = 'a very long key that goes on and on until it is cut somewhere'
    const cut = 'a-very-long-key-that-goes-on-and-on-until-it-is-'
    const names = memoryFileNames(key)
    expect(cut).toHaveLength(48)
    expect(names.preferred).toMatch(new RegExp(`^${cut}-[0-9a-f]{6}\\.md$`))
    expect(names.legacy).toBe(`${cut}.md`)
    expect(memoryFileNames(key.replaceAll(' ', '-'))).toStrictEqual(names)
    expect(memoryFileNames(`${key}!`).legacy).toBeUndefined()
    expect(memoryFileNames('x'.repeat(48)).legacy).toBeUndefined()
    expect(memoryFileNames(`con.${'x'.repeat(60)}`).legacy).toBeUndefined()
  })

  it('offers the same name with 12 and 64 digits', () => {
    const { longer } = memoryFileNames('Q3 Report')
    expect(longer[0]).toBe(`q3-report-${digits('q3-report', 12)}.md`)
    expect(longer[1]).toBe(`q3-report-${digits('q3-report', 64)}.md`)
    expect(memoryFileNames('部署规则').longer[0]).toBe(`memory-${digits('部署规则', 12)}.md`)
    expect(memoryFileNames('memory').longer[0]).toBe(`memory-memory-${digits('memory', 12)}.md`)
  })

  it('drops one final .md of the key, and not a key that is nothing else', () => {
    expect(sanitizeMemorySlug('notes.md')).toBe('notes')
    expect(sanitizeMemorySlug('notes .MD')).toBe('notes')
    expect(sanitizeMemorySlug('notes.md.md')).toBe('notes.md')
    expect(sanitizeMemorySlug('.md')).toMatch(/^memory-md-[0-9a-f]{6}$/)
  })

  it('gives composed and decomposed spellings one name', () => {
    const composed = 'café deploy'.normalize('NFC')
    const decomposed = composed.normalize('NFD')
    expect(decomposed).not.toBe(composed)
    expect(memoryFileNames(decomposed)).toStrictEqual(memoryFileNames(composed))
  })
})

describe('topics of keys', () => {
  it('ignores case, white space and a final .md', () => {
    for (const key of ['Q3 Report', 'q3-report', ' q3\u3000report.md', 'Q3 \n Report']) {
      expect(topicOfKey(key)).toBe('q3-report')
    }
  })

  it('is the same for a key and for the one line that is stored of it', () => {
    expect(topicOfKey('a\u200bb')).toBe(topicOfKey('ab'))
    expect(topicOfKey('e\u200b\u0301')).toBe(topicOfKey('é'))
  })

  it('keeps different topics apart', () => {
    const topics = ['q3-report', 'q3_report', 'q3-report!', 'q3.report', 'q3--report'].map(
      topicOfKey,
    )
    expect(new Set(topics).size).toBe(5)
  })
})
