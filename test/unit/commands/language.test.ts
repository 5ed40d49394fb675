import { describe, expect, test } from 'vitest'
import { languageOf, localesOfEnvironment } from '../../../src/commands/language.ts'
import { ENGLISH } from '../../../src/commands/texts-en.ts'
import { CHINESE } from '../../../src/commands/texts-zh.ts'
import { textsOf } from '../../../src/commands/texts.ts'

describe('the language of a person', () => {
  test.each([
    [['zh'], 'zh'],
    [['zh_CN.UTF-8'], 'zh'],
    [['zh-Hant-TW'], 'zh'],
    [['en', 'zh'], 'en'],
    [[undefined, '', 'zh_TW'], 'zh'],
    [['C', 'zh_TW'], 'en'],
    [['C.UTF-8', 'zh_TW'], 'en'],
    [['POSIX', 'zh_TW'], 'en'],
    [['de_DE.UTF-8', 'zh'], 'en'],
    [['zhu'], 'en'],
    [[], 'en'],
  ] as const)('%j reads %s', (locales, language) => {
    expect(languageOf(locales)).toBe(language)
  })

  test('is asked from LC_ALL before LC_MESSAGES before LANG', () => {
    expect(localesOfEnvironment({ LANG: 'c', LC_ALL: 'a', LC_MESSAGES: 'b' })).toEqual([
      'a',
      'b',
      'c',
    ])
  })
})

describe('the texts', () => {
  function keysOf(value: unknown, path = ''): string[] {
    if (typeof value !== 'object' || value === null) return [path]
    return Object.entries(value).flatMap(([key, inner]) => keysOf(inner, `${path}.${key}`))
  }
  /** What English has from the store itself. */
  const isOwn = (key: string) => !/^\.(?:failures|findingMessages|findingRepairs)\./.test(key)

  test('are the same set in both languages', () => {
    expect(keysOf(CHINESE).filter(isOwn).toSorted()).toEqual(
      keysOf(ENGLISH)
        .filter((key) => !['.failures', '.findingMessages', '.findingRepairs'].includes(key))
        .toSorted(),
    )
  })

  test('are looked up by language', () => {
    expect(textsOf('zh')).toBe(CHINESE)
    expect(textsOf('en')).toBe(ENGLISH)
  })
})
