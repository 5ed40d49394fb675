/**
 * Word counting that works without spaces between words.
 *
 * Role: tells whether a text has a few words in any script, as `Intl.Segmenter` counts
 * them. Pure. Looks at the start of the text only and stops at the wanted number, so
 * that a pasted log costs nothing. Plain English and Chinese are decided by a bound: the
 * first use of the segmenter in a process takes over ten milliseconds.
 */

/** Code units from the start of a text that are looked at. */
const INSPECTED_CHARACTERS = 4096

/** Longest word in code points that ICU's dictionary for ideographs gives. */
const LONGEST_IDEOGRAPHIC_WORD = 20

/** Text that the bound holds for: no marks, joiners or letters with rules of their own. */
const PLAIN = /^[\t\n\r\u3000 -~\p{Unified_Ideograph}，。：；！？、（）《》“”…—]*$/u

const BLANK = /[\t\n\r\u3000 ]+/

const PLAIN_WORD_CHARACTER = /[A-Za-z0-9\p{Unified_Ideograph}]/u

const IDEOGRAPH = /\p{Unified_Ideograph}/gu

let segmenter: Intl.Segmenter | undefined

/**
 * @param text - any string.
 * @param minimum - wanted number of words, at least 1.
 * @returns whether the first 4,096 code units hold that many word-like segments.
 */
export function hasWords(text: string, minimum: number): boolean {
  const head = text.slice(0, INSPECTED_CHARACTERS)
  return hasPlainWords(head, minimum) || countsWords(head, minimum)
}

/** Whether it is certain without the dictionary; every piece between blanks is a word or more. */
function hasPlainWords(head: string, minimum: number): boolean {
  if (!PLAIN.test(head)) return false
  const pieces = head.split(BLANK).filter((piece) => PLAIN_WORD_CHARACTER.test(piece))
  if (pieces.length >= minimum) return true
  const ideographs = head.match(IDEOGRAPH)?.length ?? 0
  return ideographs > (minimum - 1) * LONGEST_IDEOGRAPHIC_WORD
}

function countsWords(head: string, minimum: number): boolean {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
  let count = 0
  for (const segment of segmenter.segment(head)) {
    if (segment.isWordLike === true) count += 1
    if (count >= minimum) return true
  }
  return false
}
