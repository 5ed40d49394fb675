import { describe, expect, test } from 'vitest'
import { Config, resolveConfig } from '../../src/config.ts'
import { MemoryError } from '../../src/errors.ts'

const DEFAULTS = {
  indexLineLimit: 200,
  indexCharacterLimit: 25_000,
  maxMemoryChars: 8_000,
  overflow: 'recent',
  indexRefresh: 'session',
  subagents: 'none',
  projectRoot: 'resolved',
  forgetTool: true,
  memoryFileWrites: 'allow',
}

const WRONG: [key: string, value: unknown][] = [
  ...['indexLineLimit', 'indexCharacterLimit', 'maxMemoryChars'].flatMap((key) =>
    [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '200', true, [], {}].map(
      (value): [string, unknown] => [key, value],
    ),
  ),
  ['overflow', 'tail'],
  ['overflow', 1],
  ['indexRefresh', 'always'],
  ['indexRefresh', true],
  ['subagents', 'some'],
  ['projectRoot', 'real'],
  ['forgetTool', 'yes'],
  ['forgetTool', 0],
  ['memoryFileWrites', 'deny'],
]

describe('resolveConfig', () => {
  test.each([[undefined], [{}]])('fills every gap of %j', (config) => {
    expect(resolveConfig(config)).toEqual(DEFAULTS)
  })

  test('keeps what is given and fills the rest', () => {
    const given = { indexLineLimit: 3, overflow: 'head', subagents: 'all' } as const
    expect(resolveConfig(given)).toEqual({ ...DEFAULTS, ...given })
  })

  test.each(WRONG)('refuses %s: %j naming the key', (key, value) => {
    expect(() => resolveConfig({ [key]: value })).toThrow(key)
  })

  test.each(['indexLinelimit', 'index_line_limit', '', 'toString', '__proto__'])(
    'refuses the unknown key %j and lists the known ones',
    (key) => {
      const config = JSON.parse(`{ ${JSON.stringify(key)}: 1 }`) as Record<string, unknown>
      const refused = (): unknown => resolveConfig(config)
      expect(refused).toThrow(MemoryError)
      expect(refused).toThrow(`"${key}"; known keys: ${Object.keys(DEFAULTS).join(', ')}`)
    },
  )
})

test('the schema that the host asks gives the same values and the same refusals', async () => {
  const { validate } = Config['~standard']
  expect(await validate({})).toEqual({ value: DEFAULTS })
  for (const [key, value] of WRONG) {
    const { issues } = await validate({ [key]: value })
    expect(JSON.stringify(issues), key).toContain(key)
  }
})
