/**
 * Telling what a session's model was given of the memory.
 *
 * Role: pure. Compares the index as it was read with the view that was given,
 * line by line. Lines that occur more than once are told apart by their order.
 */
import { stripLeadingFrontmatter, stripTopLevelHtmlComments } from '../format/index-view.ts'
import type { IndexView } from '../format/index-view.ts'
import { toWellFormedText } from '../format/text.ts'
import type { IndexSettings, InjectedIndex } from '../session/injected-index.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { OmissionReason, TextSize, WhyOutcome } from './outcome.ts'

/** ASCII characters that make about one token. */
const ASCII_CHARACTERS_PER_TOKEN = 4

const NOT_ASCII = /[^\0-\x7f]/gu

/**
 * A rough size for people: four ASCII characters count as one token, every other
 * character (Chinese, accents, emoji) as one. Real tokenizers differ by a third and more.
 */
export function sizeOfText(text: string): TextSize {
  const others = text.match(NOT_ASCII) ?? []
  const otherUnits = others.reduce((sum, character) => sum + character.length, 0)
  const ascii = text.length - otherUnits
  return {
    characters: text.length,
    tokens: Math.ceil(ascii / ASCII_CHARACTERS_PER_TOKEN) + others.length,
  }
}

type Omitted = WhyOutcome['omitted'][number]

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

/** Lines that a step took away: those that occur less often after it. */
function removedLines(before: string, after: string, reason: OmissionReason): Omitted[] {
  const left = new Map<string, number>()
  for (const line of linesOf(after)) left.set(line, (left.get(line) ?? 0) + 1)
  return linesOf(before).flatMap((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count > 0 ? [] : [{ line, reason }]
  })
}

function shownText({ text, warning }: IndexView): string {
  return warning === '' ? text : text.slice(0, text.length - warning.length).trimEnd()
}

/** Lines of the text that are not among the shown ones, which stand in the same order. */
function unfittingLines(body: string, shown: readonly string[]): Omitted[] {
  const omitted: Omitted[] = []
  let next = 0
  for (const line of linesOf(body)) {
    const candidate = shown[next]
    if (candidate !== undefined && line.trim() === candidate.trim()) next += 1
    else if (candidate !== undefined && next === shown.length - 1 && line.startsWith(candidate)) {
      next += 1
      omitted.push({ line, reason: 'cut' })
    } else omitted.push({ line, reason: 'over-limit' })
  }
  return omitted
}

/**
 * Which lines of an index were left out, and why.
 * @param indexText - the index as it was read.
 * @param view - what was given of it.
 */
export function omittedLines(indexText: string, view: IndexView): Omitted[] {
  const bare = indexText.startsWith('\ufeff') ? indexText.slice(1) : indexText
  const text = toWellFormedText(bare).replaceAll(/\r\n?/g, '\n')
  const withoutHeader = stripLeadingFrontmatter(text)
  const body = stripTopLevelHtmlComments(withoutHeader)
  return [
    ...removedLines(text, withoutHeader, 'frontmatter'),
    ...removedLines(withoutHeader, body, 'comment'),
    ...unfittingLines(body, linesOf(shownText(view))),
  ]
}

/** What {@link explainInjection} looks at. */
export interface Injection {
  audience: WhyOutcome['audience']
  project: ProjectMemoryPaths
  settings: IndexSettings
  guidance: string
  index: InjectedIndex
}

/** @returns what was given, what was left out and how large it is. */
export function explainInjection(injection: Injection): WhyOutcome {
  const { audience, guidance, index, project, settings } = injection
  const view = index.kind === 'shown' ? index.view : undefined
  return {
    kind: 'why',
    audience,
    project: project.projectRoot,
    indexFile: project.indexFilePath,
    given: index.kind,
    reason: index.kind === 'unreadable' ? index.reason : null,
    guidance: sizeOfText(guidance),
    index: sizeOfText(index.text),
    entries: { shown: view?.shownCount ?? 0, total: view?.entryCount ?? 0 },
    limits: {
      lines: settings.indexLineLimit,
      characters: settings.indexCharacterLimit,
      overflow: settings.overflow,
    },
    shown: view === undefined ? linesOf(index.text) : linesOf(shownText(view)),
    omitted: index.kind === 'shown' ? omittedLines(index.indexText, index.view) : [],
  }
}
