/**
 * Text of memories as it may go to a screen.
 *
 * Role: memories are written by a model and may hold anything. Characters that
 * act on a terminal, reorder a line or cannot be seen are shown as `\u{…}`. Pure;
 * what is stored stays as it is, and JSON output carries the exact text.
 */

const JOINED = '[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{Regional_Indicator}]'

/**
 * Controls, direction marks and overrides, characters that are invisible or
 * separate lines, lone surrogates, and joiners that join nothing.
 */
const HIDDEN = new RegExp(
  [
    '[\\p{Cc}\\p{Surrogate}\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f]',
    '[\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{1d173}-\\u{1d17a}]',
    `(?<!${JOINED})[\\u200c\\u200d]|[\\u200c\\u200d](?!${JOINED})`,
  ].join('|'),
  'gu',
)

/** An emoji flag of a region, or one stray tag character. */
const FLAG_OR_TAG =
  /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}|[\u{e0000}-\u{e007f}]/gu

function named(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/**
 * One line for a screen.
 * @returns text without any character that is not seen; line breaks and tabs are named too.
 */
export function visibleLine(text: string): string {
  return text
    .replaceAll(FLAG_OR_TAG, (match) => (match.length > 2 ? match : named(match)))
    .replaceAll(HIDDEN, named)
}

/**
 * Text of several lines for a screen.
 * @returns the same with LF between lines and tabs kept; CRLF counts as a line break.
 */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split(/([\n\t])/)
    .map((part) => (part === '\n' || part === '\t' ? part : visibleLine(part)))
    .join('')
}

/**
 * JSON in which nothing acts on a terminal either.
 * @param value - plain data.
 * @returns indented JSON; parsing gives exactly the value.
 */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
    .split('\n')
    .map((line) => line.replaceAll(FLAG_OR_TAG, jsonEscaped).replaceAll(HIDDEN, jsonEscaped))
    .join('\n')
}

function jsonEscaped(match: string): string {
  return match
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
