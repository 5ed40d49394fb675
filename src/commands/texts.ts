/**
 * The sentences of a language.
 *
 * Role: one place where a language is looked up. Reached only when a command
 * runs: texts are not on the start-up path.
 */
import type { Language } from './language.ts'
import { CHINESE } from './texts-zh.ts'
import type { Texts } from './texts-en.ts'
import { ENGLISH } from './texts-en.ts'

/** @returns the sentences of a language. */
export function textsOf(language: Language): Texts {
  return language === 'zh' ? CHINESE : ENGLISH
}
