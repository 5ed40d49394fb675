/**
 * What a session's model was given, as plain text.
 *
 * Role: pure; see `render.ts`.
 */
import type { OmissionReason, WhyOutcome } from './outcome.ts'
import type { RenderOptions } from './render.ts'
import type { Texts } from './texts-en.ts'
import { visibleLine } from './visible.ts'

/** Order in which left-out lines are told. */
const REASONS: readonly OmissionReason[] = ['over-limit', 'cut', 'comment', 'frontmatter']

function headline({ audience, entries, given }: WhyOutcome, texts: Texts): string {
  if (audience === 'session') {
    const session = texts.whySession
    return given === 'shown' ? session.shown(entries.shown, entries.total) : session[given]
  }
  const fresh = texts.whyNew
  if (given === 'shown') return fresh.shown(entries.shown, entries.total)
  return given === 'unreadable' ? fresh.unreadable : fresh.absent
}

function reasonText(reason: OmissionReason, { limits }: WhyOutcome, texts: Texts): string {
  if (reason !== 'over-limit') return texts.omittedLines[reason]
  const isRecent = limits.overflow === 'recent'
  return texts.omittedLines['over-limit'](limits.lines, limits.characters, isRecent)
}

/** The answer first, then sizes, then every line that was given or left out. */
export function renderWhy(outcome: WhyOutcome, { texts }: RenderOptions): string {
  const { guidance, index, omitted, reason, shown } = outcome
  const lines = [headline(outcome, texts)]
  if (reason !== null) lines.push(visibleLine(reason))
  lines.push(
    texts.sizes(texts.guidancePart, guidance.characters, guidance.tokens),
    texts.sizes(texts.indexPart, index.characters, index.tokens),
    texts.tokenNote,
  )
  if (shown.length > 0) {
    lines.push('', texts.givenLines(visibleLine(outcome.indexFile)))
    lines.push(...shown.map((line) => `  ${visibleLine(line)}`))
  }
  for (const kind of REASONS) {
    const left = omitted.filter((item) => item.reason === kind)
    if (left.length === 0) continue
    lines.push('', reasonText(kind, outcome, texts))
    lines.push(...left.map(({ line }) => `  ${visibleLine(line)}`))
  }
  return lines.join('\n')
}
