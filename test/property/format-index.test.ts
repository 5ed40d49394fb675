import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  findIndexEntries,
  isWellFormedText,
  removeIndexEntry,
  renderIndexEntry,
  restoreIndexEntry,
  scanIndexEntries,
  upsertIndexEntries,
  utf8BytesCodec,
  viewIndex,
} from '../../src/format/index.ts'
import {
  anyString,
  anyText,
  entry,
  fileName,
  index,
  indexWithoutItemFences,
  runs,
} from './format-arbitraries.ts'

describe('index edits', () => {
  it('do the same to a text and to a view of its bytes', () => {
    fc.assert(
      fc.property(index, fc.array(entry, { maxLength: 4 }), fileName, (text, entries, name) => {
        const raw = utf8BytesCodec.encode(text)
        const edited = upsertIndexEntries(raw, entries, utf8BytesCodec)
        const expected = upsertIndexEntries(text, entries)
        expect(utf8BytesCodec.decode(edited.text)).toBe(expected.text)
        expect(edited.replaced).toStrictEqual(expected.replaced)
        const removed = removeIndexEntry(raw, name, utf8BytesCodec)
        const expectedRemoved = removeIndexEntry(text, name)
        expect(utf8BytesCodec.decode(removed.text)).toBe(expectedRemoved.text)
        expect(removed.removed).toStrictEqual(expectedRemoved.removed)
      }),
      runs,
    )
  })

  it('leave one entry per written file and every other line as it was', () => {
    fc.assert(
      fc.property(indexWithoutItemFences, entry, (text, one) => {
        const before = scanIndexEntries(text)
        const { text: after, replaced } = upsertIndexEntries(text, [one])
        const own = findIndexEntries(after, one.fileName)
        expect(own).toHaveLength(1)
        expect(replaced).toStrictEqual([before.some(({ fileName: name }) => name === one.fileName)])
        expect(
          scanIndexEntries(after)
            .filter((e) => e.fileName !== one.fileName)
            .map(lineOf(after)),
        ).toStrictEqual(before.filter((e) => e.fileName !== one.fileName).map(lineOf(text)))
        expect(upsertIndexEntries(after, [one]).text).toBe(after)
      }),
      runs,
    )
  })

  it('only insert when the file is new', () => {
    fc.assert(
      fc.property(index, anyText, (text, hook) => {
        const line = { title: 'New', fileName: 'brand-new.md', hook }
        const after = upsertIndexEntries(text, [line]).text
        const [own] = findIndexEntries(after, 'brand-new.md')
        const rest = after.slice(0, own?.start) + after.slice(own?.end)
        expect(rest === text || rest.replace(/\r?\n$/, '') === text).toBe(true)
      }),
      runs,
    )
  })

  it('touch nothing outside the line that is replaced', () => {
    fc.assert(
      fc.property(index, entry, (text, one) => {
        const found = findIndexEntries(text, one.fileName)
        if (found.length !== 1 || found[0] === undefined) return
        const { start, end, bullet } = found[0]
        const after = upsertIndexEntries(text, [one]).text
        const ending = /\r?\n$|$/.exec(text.slice(start, end))?.[0] ?? ''
        expect(after).toBe(
          `${text.slice(0, start)}${renderIndexEntry(one, bullet)}${ending}${text.slice(end)}`,
        )
      }),
      runs,
    )
  })

  it('can be undone: a removed entry goes back to its place', () => {
    fc.assert(
      fc.property(indexWithoutItemFences, fileName, (text, name) => {
        const { text: without, removed } = removeIndexEntry(text, name)
        expect(findIndexEntries(without, name)).toHaveLength(0)
        const [only] = removed
        if (removed.length !== 1 || only === undefined) return
        const back = restoreIndexEntry(without, only)
        expect(findIndexEntries(back, name)).toHaveLength(1)
        expect(scanIndexEntries(back)).toHaveLength(scanIndexEntries(text).length)
      }),
      runs,
    )
  })

  it('render one line of at most 200 code units that names the file', () => {
    fc.assert(
      fc.property(entry, (one) => {
        const line = renderIndexEntry(one)
        expect(line.length).toBeLessThanOrEqual(200)
        expect(isWellFormedText(line)).toBe(true)
        expect(line).not.toMatch(/[\r\n\u0085\u2028\u2029]/)
        expect(scanIndexEntries(line).map((e) => e.fileName)).toStrictEqual([one.fileName])
      }),
      runs,
    )
  })
})

function lineOf(text: string): (at: { start: number; end: number }) => string {
  return ({ start, end }) => text.slice(start, end).replace(/\r?\n$/, '')
}

describe('views of an index', () => {
  const limits = fc.record({
    lineLimit: fc.integer({ min: 1, max: 12 }),
    characterLimit: fc.integer({ min: 1, max: 400 }),
    overflow: fc.constantFrom<'recent' | 'head'>('recent', 'head'),
  })

  it('are within the limits, well-formed and true about what they show', () => {
    fc.assert(
      fc.property(
        fc.oneof(index, anyString),
        limits,
        fc.func(fc.nat(3)),
        (text, options, mtimeMsOf) => {
          const view = viewIndex(text, { ...options, mtimeMsOf })
          const body = view.warning === '' ? view.text : view.text.slice(0, -view.warning.length)
          const shown = body.replace(/\n\n$/, '')
          expect(shown.length).toBeLessThanOrEqual(options.characterLimit)
          expect(shown.split('\n').length).toBeLessThanOrEqual(options.lineLimit)
          expect(isWellFormedText(view.text)).toBe(true)
          expect(view.text).not.toMatch(/\r|^\ufeff/)
          expect(view.isTruncated).toBe(view.warning !== '')
          expect(view.shownCount).toBeLessThanOrEqual(view.entryCount)
          const lines = body.split('\n')
          for (const name of view.shownFileNames) {
            expect(lines.some((line) => findIndexEntries(line, name).length > 0)).toBe(true)
          }
        },
      ),
      { numRuns: 5_000 },
    )
  })
})
