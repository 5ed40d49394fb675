/**
 * Text from a file made fit for one physical line.
 *
 * Role: keeps a description or file name from forming a line of its own, from
 * turning the direction of the text around it and from hiding characters in it.
 * Pure; applying it twice changes nothing more.
 */

/** Printable ASCII without leading, trailing or doubled blanks needs no work. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/

/**
 * Matched first: a flag emoji with its tag characters, and a joiner between two
 * letters, marks or emoji; both stay. Everything else matched is removed: soft
 * hyphen, direction marks and overrides, zero-width characters, byte-order marks,
 * joiners and tag characters anywhere else.
 */
const INVISIBLE =
  /(?<kept>\u{1F3F4}[\u{E0020}-\u{E007E}]+\u{E007F}|(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200C\u200D](?=[\p{L}\p{M}\p{Extended_Pictographic}]))|[\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu

// oxlint-disable-next-line no-control-regex -- control characters are what it is for
const BLANK = /[\s\u0000-\u001F\u007F-\u009F]+/gu

const LONE_SURROGATE = /\p{Surrogate}/gu

/**
 * @returns well-formed text without line breaks, control and direction characters;
 *   runs of white space are one blank; '' when nothing visible is left.
 */
export function toOneLine(text: string): string {
  if (PLAIN.test(text)) return text
  return text
    .replace(LONE_SURROGATE, '\uFFFD')
    .replace(INVISIBLE, (_match, kept: string | undefined) => kept ?? '')
    .replace(BLANK, ' ')
    .trim()
}
