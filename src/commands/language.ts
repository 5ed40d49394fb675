/**
 * Which language a person reads.
 *
 * Role: pure choice from what the host or the terminal says, in its order.
 */

/** Languages that there are texts in. */
export type Language = 'en' | 'zh'

/**
 * @param locales - locale names, for instance `zh`, `zh_CN.UTF-8`, `en-US` or `C`; the first that is
 *   there and not empty decides.
 * @returns `zh` for any Chinese, else `en`.
 */
export function languageOf(locales: readonly (string | undefined)[]): Language {
  const locale = locales.find((name) => name !== undefined && name !== '')
  return locale !== undefined && /^zh\b|^zh_/iu.test(locale) ? 'zh' : 'en'
}

/**
 * The locale names of an environment, in the order in which programs go by them.
 * @param env - environment variables by name.
 */
export function localesOfEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): (string | undefined)[] {
  return [env['LC_ALL'], env['LC_MESSAGES'], env['LANG']]
}
