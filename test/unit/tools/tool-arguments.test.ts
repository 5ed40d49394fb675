import { describe, expect, test } from 'vitest'
import { parseSaveArguments } from '../../../src/tools/save-arguments.ts'
import { parseArgumentObject } from '../../../src/tools/tool-arguments.ts'

const SECRET = 'sesame-7f3a'

describe('the arguments of any tool', () => {
  const parse = (args: unknown): unknown => parseArgumentObject(args, ['a', 'b'], 'a')

  test.each([[undefined], [null], [1], ['{"a": 1'], [[{ a: 1 }]], [true]])(
    '%j is no object of arguments',
    (args) => {
      expect(() => parse(args)).toThrow('arguments must be an object with a')
    },
  )

  test('known names pass, whatever their values are', () => {
    expect(parse({ a: null, b: [1] })).toEqual({ a: null, b: [1] })
    expect(parse({})).toEqual({})
  })

  test('an unknown name is told when it is a plain word, and never quoted when it is not', () => {
    expect(() => parse({ a: 1, colour: SECRET })).toThrow(
      'unknown argument "colour"; allowed are a, b',
    )
    for (const name of ['x y', '', '<script>', 'é', 'n'.repeat(41), `${SECRET}\n`]) {
      expect(() => parse({ [name]: SECRET })).toThrow(
        'unknown argument with an odd name; allowed are a, b',
      )
    }
  })

  test.each(['__proto__', 'constructor', 'hasOwnProperty'])(
    '%s is unknown like any other',
    (name) => {
      expect(() => parse(JSON.parse(`{ "${name}": 1 }`))).toThrow('unknown argument')
    },
  )
})

describe('the arguments of the save tool', () => {
  const { signal } = new AbortController()
  const parse = (args: unknown, limit = 8000): ReturnType<typeof parseSaveArguments> =>
    parseSaveArguments(args, limit, { originSessionId: 'session-1', signal })

  test('become a request under the session that calls', () => {
    expect(parse({ key: ' K ', content: ' c\n' })).toEqual({
      key: ' K ',
      content: ' c\n',
      type: 'project',
      description: undefined,
      originSessionId: 'session-1',
      signal,
    })
  })

  test('cannot name another session or signal', () => {
    for (const name of ['originSessionId', 'signal']) {
      expect(() => parse({ key: 'k', content: 'c', [name]: 'x' })).toThrow('unknown argument')
    }
  })

  test('are measured in UTF-16 code units against the configured limit', () => {
    expect(parse({ key: 'k', content: '🦑'.repeat(5) }, 10).content).toHaveLength(10)
    expect(() => parse({ key: 'k', content: `${'🦑'.repeat(5)}.` }, 10)).toThrow(
      /content has 11 characters, more than the 10 allowed/,
    )
  })

  test('an unknown name comes before a wrong value', () => {
    expect(() => parse({ key: 1, extra: 1 })).toThrow('unknown argument "extra"')
  })
})
