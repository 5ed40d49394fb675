/**
 * Text on one line, and cuts that leave text well-formed.
 *
 * Role: the rules of decisions.md "The index, by line" for characters. Knows no
 * file format. Invisible characters are removed before white space collapses,
 * so that the result is the same when the functions are applied twice.
 */

const REMOVED_CHARACTERS = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g
/** An emoji flag of a region (black flag, 3 to 6 tag characters, end tag), or one stray tag character. */
const FLAG_OR_TAG =
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}|[\u{e0000}-\u{e007f}]/gu
const JOINED = '[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{Regional_Indicator}]'
const STRAY_JOINER = new RegExp(
  `(?<!${JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!${JOINED})`,
  'gu',
)
const BLANK_RUN = /[\s\p{Control}]+/gu
const PLAIN_ASCII = /^[\x20-\x7e]*$/
/** How far around a cut the text is searched for the start of a user-visible character. */
const GRAPHEME_WINDOW = 64

let graphemes: Intl.Segmenter | undefined

/**
 * Text as one trimmed line.
 *
 * White space and control characters collapse to one space. Soft hyphens,
 * zero-width spaces, direction marks and overrides, invisible operators, byte
 * order marks and tag characters outside emoji flags are removed. U+200C and
 * U+200D stay between letters, marks and emoji; U+FE0F stays.
 *
 * @param text - any text; lone surrogates are kept.
 * @returns the line; applying the function again changes nothing.
 */
export function toSingleLine(text: string): string {
  const visible = PLAIN_ASCII.test(text)
    ? text
    : text
        .replaceAll(REMOVED_CHARACTERS, '')
        .replaceAll(FLAG_OR_TAG, (match) => (match.length > 2 ? match : ''))
        .replaceAll(STRAY_JOINER, '')
  return visible.replaceAll(BLANK_RUN, ' ').trim()
}

/**
 * Text cut to a length, with an ellipsis when something was cut.
 *
 * @param text - any text.
 * @param maxUnits - most UTF-16 code units of the result.
 * @returns the text itself when it fits; never ends inside a surrogate pair, and
 * not inside a user-visible character unless that is very long.
 */
export function truncateText(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text
  if (maxUnits < 1) return ''
  return `${text.slice(0, safeCut(text, maxUnits - 1)).trimEnd()}…`
}

/**
 * The last position at or before an offset where text may be cut.
 *
 * @param text - any text.
 * @param offset - wished length in code units, at least 0.
 * @returns a position that splits no surrogate pair and, within a window of 64
 * code units, no user-visible character.
 */
export function safeCut(text: string, offset: number): number {
  if (offset <= 0 || offset >= text.length) return Math.max(0, Math.min(offset, text.length))
  const before = text.charCodeAt(offset - 1)
  const after = text.charCodeAt(offset)
  if (before < 0x80 && after < 0x80) return offset
  const from = codePointStart(text, Math.max(0, offset - GRAPHEME_WINDOW))
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' })
  const around = text.slice(from, offset + GRAPHEME_WINDOW)
  const start = graphemes.segment(around).containing(offset - from)?.index ?? 0
  return start > 0 || from === 0 ? from + start : codePointStart(text, offset)
}

/** @returns the offset, one less when it lies between the halves of a surrogate pair. */
function codePointStart(text: string, offset: number): number {
  if (offset <= 0 || offset >= text.length) return offset
  const isLow = (text.charCodeAt(offset) & 0xfc00) === 0xdc00
  const isHigh = (text.charCodeAt(offset - 1) & 0xfc00) === 0xd800
  return isLow && isHigh ? offset - 1 : offset
}

/**
 * Where text cannot be stored as UTF-8 text.
 * @param text - any text.
 * @returns position in code units of the first NUL or lone surrogate, -1 when there is none.
 */
export function firstIllFormedIndex(text: string): number {
  return text.search(/\0|\p{Surrogate}/u)
}

/** ES2024 methods that every supported Node.js has; the library types end at ES2023. */
interface WellFormedMethods {
  isWellFormed(): boolean
  toWellFormed(): string
}

/**
 * @param text - any text.
 * @returns whether the text holds no lone surrogate.
 */
export function isWellFormedText(text: string): boolean {
  return (text as unknown as WellFormedMethods).isWellFormed()
}

/**
 * @param text - any text.
 * @returns the text with each lone surrogate replaced by U+FFFD.
 */
export function toWellFormedText(text: string): string {
  return (text as unknown as WellFormedMethods).toWellFormed()
}
