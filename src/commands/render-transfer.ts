/**
 * Import and export as plain text.
 *
 * Role: pure; see `render.ts`.
 */
import type { ExportOutcome, ImportOutcome, ImportedItem } from './outcome.ts'
import type { RenderOptions } from './render.ts'
import type { Texts } from './texts-en.ts'
import { visibleLine } from './visible.ts'

function itemLine(item: ImportedItem, isApplied: boolean, texts: Texts): string {
  const state = isApplied && item.state === 'new' ? texts.copied : texts.states[item.state]
  const reason = item.reason === null ? '' : `: ${visibleLine(item.reason)}`
  return `  ${visibleLine(item.fileName)}  ${visibleLine(item.title)} · ${state}${reason}`
}

/** A preview of an import, or what it did. */
export function renderImport(outcome: ImportOutcome, { texts }: RenderOptions): string {
  const { applied, isThisProject, items, otherProjects } = outcome
  const program = texts.programs[outcome.program] ?? outcome.program
  if (outcome.source === null) return `${texts.noSource(program)}\n${texts.noSourceHint}`
  const source = visibleLine(outcome.source)
  const count = items.filter(({ state }) => state === 'new').length
  const lines = [
    applied
      ? texts.imported(count, visibleLine(outcome.directory))
      : texts.preview(program, source),
    ...items.map((item) => itemLine(item, applied, texts)),
  ]
  if (!isThisProject) lines.push('', texts.cannotTell(source))
  if (otherProjects.length > 0) {
    lines.push('', texts.sharedWith, ...otherProjects.map((path) => `  ${visibleLine(path)}`))
  }
  if (items.length === 0) lines.push('', texts.emptySource)
  else if (!applied && isThisProject) {
    lines.push('', count > 0 ? texts.applyHint : texts.nothingNew)
  }
  return lines.join('\n')
}

/** What was written where. */
export function renderExport(outcome: ExportOutcome, { texts }: RenderOptions): string {
  const { file, memories, skipped } = outcome
  const lines = file === null ? [] : [texts.exported(memories, visibleLine(file))]
  if (skipped.length > 0) {
    lines.push(texts.skipped)
    for (const { fileName, problem } of skipped) {
      lines.push(`  ${visibleLine(fileName)}: ${visibleLine(problem)}`)
    }
  }
  return lines.join('\n')
}
