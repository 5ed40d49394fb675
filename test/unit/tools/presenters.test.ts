import type { ToolResult } from '@deepseek-ai/dsh-tools'
import { assert, property, anything, record, boolean } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { presentForgetCall, presentForgetResult } from '../../../src/tools/forget-result.ts'
import { presentSaveCall, presentSaveResult } from '../../../src/tools/save-result.ts'

const result = (meta: unknown, isError = false): ToolResult =>
  ({ content: [], isError, meta }) as unknown as ToolResult

const SAVED = {
  saved: true,
  fileName: 'pier.md',
  filePath: '/m/pier.md',
  bytes: 1,
  replaced: false,
  shownInIndex: true,
  indexEntries: 1,
  indexLineLimit: 200,
}
const ARGS = { key: 'Pier', content: 'Old pier.\n' }
const ODD = [undefined, null, 1, 'text', [], {}, { key: 1 }, { content: 'x' }]

describe('the card of a save', () => {
  test('tells what is being remembered, then shows the memory as a new or updated file', () => {
    expect(presentSaveCall(ARGS)).toEqual({
      card: 'generic',
      kind: 'edit',
      title: 'Remember: Pier',
    })
    const diffs = [{ path: 'pier.md', oldText: null, newText: 'Old pier.\n' }]
    expect(presentSaveResult(ARGS, result(SAVED))).toEqual({
      card: 'diff',
      title: 'Remembered: Pier',
      diffs,
    })
    expect(presentSaveResult(ARGS, result({ ...SAVED, replaced: true }))).toEqual({
      card: 'diff',
      title: 'Updated memory: Pier',
      diffs,
    })
  })

  test('names no location, so that memory files are not listed as work products', () => {
    expect(presentSaveCall(ARGS)).not.toHaveProperty('locations')
    expect(presentSaveResult(ARGS, result(SAVED))).not.toHaveProperty('locations')
  })

  test('says that nothing was remembered when nothing was', () => {
    expect(presentSaveResult(ARGS, result({ saved: false, reason: 'r' }))).toEqual({
      card: 'generic',
      title: 'Not remembered: Pier',
    })
  })

  test('is the generic card of the host for odd arguments and for errors', () => {
    for (const args of ODD) {
      expect(presentSaveCall(args)).toBeUndefined()
      expect(presentSaveResult(args, result(SAVED))).toBeUndefined()
    }
    expect(presentSaveResult({ key: 'Pier' }, result(SAVED))).toBeUndefined()
    expect(presentSaveResult(ARGS, result(SAVED, true))).toBeUndefined()
  })
})

describe('the card of a forget', () => {
  test('tells what was forgotten and how to undo it, or why nothing was', () => {
    expect(presentForgetCall({ key: 'Pier' })).toMatchObject({ title: 'Forget: Pier' })
    expect(presentForgetCall({ fileName: 'pier.md' })).toMatchObject({ title: 'Forget: pier.md' })
    const content = [{ type: 'text', text: 'A copy is kept.' }]
    expect(
      presentForgetResult({}, result({ fileName: 'pier.md', note: 'A copy is kept.' })),
    ).toEqual({ card: 'generic', title: 'Forgot: pier.md', content })
    expect(presentForgetResult({}, result({ reason: 'A copy is kept.' }))).toEqual({
      card: 'generic',
      title: 'Nothing forgotten',
      content,
    })
  })

  test('is the generic card of the host for odd arguments, odd meta and errors', () => {
    for (const args of [undefined, null, 1, [], {}, { key: 1 }, { purge: true }]) {
      expect(presentForgetCall(args)).toBeUndefined()
    }
    for (const meta of [undefined, null, 1, 'text', [], {}, { note: 1 }]) {
      expect(presentForgetResult({}, result(meta))).toBeUndefined()
    }
    expect(presentForgetResult({}, result({ note: 'n' }, true))).toBeUndefined()
  })
})

test('no presenter throws, changes its input, or answers differently the second time', () => {
  const inputs = record({ args: anything(), meta: anything(), isError: boolean() })
  assert(
    property(inputs, ({ args, meta, isError }) => {
      const input = deepFreeze(result(meta, isError))
      deepFreeze(args)
      const views = (): unknown[] => [
        presentSaveCall(args),
        presentSaveResult(args, input),
        presentForgetCall(args),
        presentForgetResult(args, input),
      ]
      expect(views()).toEqual(views())
      expect(JSON.parse(JSON.stringify(views().map((view) => view ?? null)))).toEqual(
        views().map((view) => view ?? null),
      )
    }),
  )
})

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (ArrayBuffer.isView(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
