import { expect, test } from 'vitest'
import { parseSaveRequest } from '../../../src/store/save-request.ts'

test('what is wrong with a request is told by field and shape, never by value', () => {
  const base = { key: 'k', content: 'c' }
  const wrong: [object, RegExp][] = [
    [{ key: 7 }, /^key must be a string; got number$/u],
    [{ key: 'x'.repeat(1001) }, /^key has 1001 characters, more than the 1000 allowed/u],
    [{ content: '' }, /^content must not be blank/u],
    [{ content: ' \n' }, /^content must not be blank/u],
    [{ content: null }, /^content must be a string; got null$/u],
    [{ content: ['secret'] }, /^content must be a string; got an array$/u],
    [{ content: 'secret\0' }, /^content contains a NUL character at position 6/u],
    [{ content: 'secret\ud83d' }, /^content contains half of a surrogate pair at position 6/u],
    [{ content: '🚀'.repeat(4001) }, /^content has 8002 characters, more than the 8000 allowed/u],
    [{ type: 'secret' }, /^type must be one of user, feedback, project, reference$/u],
    [{ type: null }, /^type must be one of/u],
    [{ type: 'Project' }, /^type must be one of/u],
    [{ description: 'x'.repeat(8001) }, /^description has 8001 characters/u],
    [{ description: 7 }, /^description must be a string; got number$/u],
    [{ originSessionId: '' }, /^originSessionId must not be blank/u],
  ]
  for (const [fields, message] of wrong) {
    const input = { ...base, ...fields }
    expect(() => parseSaveRequest(input, { maxContentChars: 8000 })).toThrow(message)
    expect(() => parseSaveRequest(input, { maxContentChars: 8000 })).not.toThrow(/secret/u)
  }
  expect(
    parseSaveRequest({ ...base, content: '🚀'.repeat(4000) }, { maxContentChars: 8000 }),
  ).toMatchObject({ type: 'project' })
  expect(parseSaveRequest({ ...base, description: '  ' }).description).toBeUndefined()
})
