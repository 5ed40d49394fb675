/**
 * Finding words in memories.
 *
 * Role: pure. Every word must occur in title, description or body, case and
 * width ignored. Chinese and Japanese are written without spaces, so a word that
 * does not occur as a whole counts when all the words in it do.
 */
import { safeCut } from '../format/text.ts'
import type { MatchedPart } from './outcome.ts'

/** What is looked through. */
export interface SearchableMemory {
  title: string
  description: string
  body: string
}

/** A match; a higher score is better. */
export interface FoundWords {
  score: number
  matched: MatchedPart[]
  /** The line around the first match, at most {@link EXCERPT_MAX_CHARS} code units with ellipses. */
  excerpt: string
}

/** Most code units of an excerpt. */
export const EXCERPT_MAX_CHARS = 120

/** Code units that an excerpt shows before the match. */
const CONTEXT_BEFORE = 30

/** What a word counts by the part it is in. */
const WEIGHTS: Readonly<Record<MatchedPart, number>> = { title: 8, description: 4, body: 1 }

/** Scripts that put no spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

let words: Intl.Segmenter | undefined

function normalized(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** A word and the pieces that may stand for it. */
interface Term {
  whole: string
  pieces: string[]
}

function piecesOf(word: string): string[] {
  if (!UNSPACED.test(word)) return []
  words ??= new Intl.Segmenter('zh', { granularity: 'word' })
  const pieces = [...words.segment(word)].filter(({ isWordLike }) => isWordLike === true)
  return pieces.length < 2 ? [] : pieces.map(({ segment }) => segment)
}

/** @returns the words of a query; `[]` for a blank one. */
function termsOf(query: string): Term[] {
  return normalized(query)
    .split(/\s+/u)
    .filter((word) => word !== '')
    .map((whole) => ({ whole, pieces: piecesOf(whole) }))
}

function isIn(text: string, { whole, pieces }: Term): boolean {
  if (text.includes(whole)) return true
  return pieces.length > 0 && pieces.every((piece) => text.includes(piece))
}

/** Whether a text has at least a piece of a term. */
function touches(text: string, { whole, pieces }: Term): boolean {
  return text.includes(whole) || pieces.some((piece) => text.includes(piece))
}

/** Where a term begins in a line that was not normalised; -1 when it is found only in the other form. */
function positionIn(line: string, { whole, pieces }: Term): number {
  const lower = line.toLowerCase()
  for (const candidate of [whole, ...pieces]) {
    const at = lower.indexOf(candidate)
    if (at >= 0) return at
  }
  return -1
}

/** The line with most of the terms, else the first with a piece of one. */
function bestLine(text: string, terms: readonly Term[]): string {
  const lines = text.split('\n')
  const counts = lines.map((line) => {
    const plain = normalized(line)
    return terms.filter((term) => isIn(plain, term)).length
  })
  const most = counts.reduce((one, other) => Math.max(one, other), 0)
  if (most > 0) return lines[counts.indexOf(most)] ?? ''
  return lines.find((line) => terms.some((term) => touches(normalized(line), term))) ?? ''
}

function excerptOf(text: string, terms: readonly Term[]): string {
  const line = bestLine(text, terms).trim()
  if (line.length <= EXCERPT_MAX_CHARS) return line
  const positions = terms.map((term) => positionIn(line, term)).filter((at) => at >= 0)
  const start = safeCut(line, Math.max(0, Math.min(line.length, ...positions) - CONTEXT_BEFORE))
  const end = safeCut(line, Math.min(line.length, start + EXCERPT_MAX_CHARS - '……'.length))
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`
}

/**
 * Prepare a query.
 * @param query - words as a person writes them.
 * @returns a function that looks through one memory, `undefined` for no match; `undefined` for a
 *   query without words.
 */
export function searchFor(
  query: string,
): ((memory: SearchableMemory) => FoundWords | undefined) | undefined {
  const terms = termsOf(query)
  if (terms.length === 0) return undefined
  return (memory) => {
    const parts = (['title', 'description', 'body'] as const).map((part) => ({
      part,
      text: normalized(memory[part]),
    }))
    const everything = parts.map(({ text }) => text).join('\n')
    if (!terms.every((term) => isIn(everything, term))) return undefined
    let score = 0
    const matched: MatchedPart[] = []
    for (const { part, text } of parts) {
      if (!terms.some((term) => touches(text, term))) continue
      matched.push(part)
      score += terms.filter((term) => isIn(text, term)).length * WEIGHTS[part]
    }
    const source = matched.includes('body') ? memory.body : memory.description || memory.title
    return { score, matched, excerpt: excerptOf(source, terms) }
  }
}
