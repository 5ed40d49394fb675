/**
 * Word counting that works without spaces between words.
 *
 * Role: tells whether a text has a few words in any script. Pure. Looks at the start
 * of the text only and stops at the wanted number, so that a pasted log costs nothing.
 */

/** Code units from the start of a text that are looked at. */
const INSPECTED_CHARACTERS = 4096

/** Made at the first use: loading the dictionaries takes milliseconds. */
let segmenter: Intl.Segmenter | undefined

/**
 * @param text - any string.
 * @param minimum - wanted number of words, at least 1.
 * @returns whether the first 4,096 code units hold that many word-like segments.
 */
export function hasWords(text: string, minimum: number): boolean {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
  let count = 0
  for (const segment of segmenter.segment(text.slice(0, INSPECTED_CHARACTERS))) {
    if (segment.isWordLike === true) count += 1
    if (count >= minimum) return true
  }
  return false
}
