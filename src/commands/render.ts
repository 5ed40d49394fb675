/**
 * Outcomes as plain text.
 *
 * Role: pure; data in, lines out, in the language of the texts. Everything that
 * comes from a memory is made visible where it is put into a line.
 */
import type {
  FailureOutcome,
  ForgetOutcome,
  ListOutcome,
  MemoryItem,
  MissingOutcome,
  NamedMemory,
  Outcome,
  SearchOutcome,
  ShowOutcome,
  UndoOutcome,
  WhereOutcome,
} from './outcome.ts'
import { renderDoctor } from './render-doctor.ts'
import { renderExport, renderImport } from './render-transfer.ts'
import { renderWhy } from './render-why.ts'
import type { Texts } from './texts-en.ts'
import { visibleLine, visibleText } from './visible.ts'

/** How something is rendered. */
export interface RenderOptions {
  texts: Texts
  /** How the person calls the command, for hints: `/memory` or the name of the program. */
  command: string
  now: Date
  /** Most code units of a memory's body; the rest is left out with a note. */
  maxBodyChars?: number
}

/** Steps of an age, from long to short: seconds of one, and its name. */
const AGE_UNITS: readonly [number, Intl.RelativeTimeFormatUnit][] = [
  [365 * 86_400, 'year'],
  [30 * 86_400, 'month'],
  [7 * 86_400, 'week'],
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
]

function ageOf(modified: string, { now, texts }: RenderOptions): string {
  const seconds = Math.max(0, (now.getTime() - Date.parse(modified)) / 1000)
  const [length, unit] = AGE_UNITS.find(([step]) => seconds >= step) ?? [1, 'second']
  const format = new Intl.RelativeTimeFormat(texts.locale, { numeric: 'auto' })
  return format.format(-Math.floor(seconds / length), unit)
}

function problemText({ problem }: MemoryItem, texts: Texts): string | undefined {
  if (problem === null) return undefined
  return problem === 'missing' ? texts.fileMissing : texts.unreadable(visibleLine(problem))
}

/** A memory in two or three lines. */
function itemLines(item: MemoryItem, options: RenderOptions, last: string | null): string[] {
  const { texts } = options
  const facts = [
    visibleLine(item.fileName),
    item.type,
    item.modified === null ? null : ageOf(item.modified, options),
    problemText(item, texts) ?? (item.indexed ? null : texts.notIndexed),
  ]
  const lines = [
    visibleLine(item.title),
    `    ${facts.filter((fact) => fact !== null && fact !== undefined).join(' · ')}`,
  ]
  return last === null || last === '' ? lines : [...lines, `    ${visibleLine(last)}`]
}

/** A session stays with its project; a shell may name another one. */
function aboveHint(directory: string, { command, texts }: RenderOptions): string {
  return command.startsWith('/')
    ? texts.memoryAboveSession(directory)
    : texts.memoryAbove(directory)
}

function renderList(outcome: ListOutcome, options: RenderOptions): string {
  const { texts } = options
  const { indexProblem, memories, memoryAbove } = outcome
  const project = visibleLine(outcome.project)
  const lines: string[] = []
  if (memories.length === 0) {
    lines.push(texts.noneYet(project))
    lines.push(memoryAbove === null ? texts.noneHint : aboveHint(visibleLine(memoryAbove), options))
  } else {
    const count = memories.filter(({ problem }) => problem !== 'missing').length
    lines.push(texts.listed(count, project))
  }
  for (const item of memories) {
    // Without an index that can be read nothing can be told of its lines.
    const shown = indexProblem === null ? item : { ...item, indexed: true }
    lines.push('', ...itemLines(shown, options, item.description))
  }
  if (indexProblem !== null) lines.push('', texts.indexUnreadable(visibleLine(indexProblem)))
  return lines.join('\n')
}

function renderShow({ body, memory }: ShowOutcome, options: RenderOptions): string {
  const { maxBodyChars = Infinity, texts } = options
  const facts: [string, string | null][] = [
    [texts.fileLabel, memory.filePath],
    [texts.typeLabel, memory.type],
    [texts.descriptionLabel, memory.description],
    [texts.sessionLabel, memory.sessionId],
  ]
  const lines = [visibleLine(memory.title)]
  for (const [label, value] of facts) {
    if (value !== null) lines.push(`  ${label}: ${visibleLine(value)}`)
  }
  if (memory.modified !== null) {
    const when = `${memory.modified.slice(0, 10)}, ${ageOf(memory.modified, options)}`
    lines.push(`  ${texts.writtenLabel}: ${when}`)
  }
  const problem = problemText(memory, texts)
  if (problem !== undefined) return [...lines, `  ${problem}`].join('\n')
  lines.push('', visibleText(body.slice(0, maxBodyChars)).trimEnd())
  if (body.length > maxBodyChars) {
    const rest = texts.size(Buffer.byteLength(body.slice(maxBodyChars)))
    lines.push('', texts.cutBody(rest, visibleLine(memory.filePath)))
  }
  return lines.join('\n')
}

function renderSearch(outcome: SearchOutcome, options: RenderOptions): string {
  const { memories, searched } = outcome
  const words = visibleLine(outcome.words)
  if (memories.length === 0) return options.texts.noneFound(searched, words)
  const lines = [options.texts.found(memories.length, searched, words)]
  for (const match of memories) lines.push('', ...itemLines(match, options, match.excerpt))
  return lines.join('\n')
}

function renderForget(outcome: ForgetOutcome, { command, texts }: RenderOptions): string {
  const { title, undoUntil } = outcome
  const fileName = visibleLine(outcome.fileName)
  const last =
    undoUntil === null ? texts.purged : texts.undoUntil(undoUntil.slice(0, 10), command, fileName)
  return `${texts.forgotten(visibleLine(title), fileName)}\n${last}`
}

function renderUndo({ fileName, filePath, title }: UndoOutcome, { texts }: RenderOptions): string {
  return texts.restored(visibleLine(title || fileName), visibleLine(filePath))
}

function nameLines(memories: readonly NamedMemory[]): string[] {
  return memories.map(({ fileName, title }) => `  ${visibleLine(fileName)}  ${visibleLine(title)}`)
}

function renderMissing(outcome: MissingOutcome, { command, texts }: RenderOptions): string {
  const { candidates, kind, verb } = outcome
  if (outcome.name === null) return texts.nothingToUndo
  const name = visibleLine(outcome.name)
  if (kind === 'ambiguous') return [texts.ambiguous(name), ...nameLines(candidates)].join('\n')
  const isUndo = verb === 'undo'
  const first = isUndo ? texts.missingInTrash(name) : texts.missing(name)
  if (candidates.length === 0) return isUndo ? first : `${first} ${texts.listHint(command)}`
  return [first, isUndo ? texts.kept : texts.closest, ...nameLines(candidates)].join('\n')
}

function renderWhere(outcome: WhereOutcome, { texts }: RenderOptions): string {
  const { exists, inTrash, memories, otherDirectory } = outcome
  const inside = exists ? texts.memoryCount(memories) : texts.notThereYet
  const rows: [string, string][] = [
    [texts.where.project, visibleLine(outcome.project)],
    [texts.where.directory, `${visibleLine(outcome.directory)}  (${inside})`],
    [texts.where.indexFile, visibleLine(outcome.indexFile)],
    [texts.where.trash, `${visibleLine(outcome.trash)}  (${texts.trashCount(inTrash)})`],
    [texts.where.home, visibleLine(outcome.home)],
  ]
  if (otherDirectory !== null) {
    rows.push([texts.where.other, `${visibleLine(otherDirectory)}  (${texts.otherDirectory})`])
  }
  return rows.map(([label, value]) => `${label}: ${value}`).join('\n')
}

/** A failure in the person's language, with the store's own line behind it. */
function renderFailure({ code, message }: FailureOutcome, { texts }: RenderOptions): string {
  const known = texts.failures[code]
  return known === undefined ? visibleLine(message) : `${known}：${visibleLine(message)}`
}

/**
 * An outcome as text.
 * @returns lines without a final line break; control and direction characters of memories are named.
 */
export function renderOutcome(outcome: Outcome, options: RenderOptions): string {
  switch (outcome.kind) {
    case 'list':
      return renderList(outcome, options)
    case 'show':
      return renderShow(outcome, options)
    case 'search':
      return renderSearch(outcome, options)
    case 'forget':
      return renderForget(outcome, options)
    case 'undo':
      return renderUndo(outcome, options)
    case 'missing':
    case 'ambiguous':
      return renderMissing(outcome, options)
    case 'why':
      return renderWhy(outcome, options)
    case 'doctor':
      return renderDoctor(outcome, options)
    case 'where':
      return renderWhere(outcome, options)
    case 'import':
      return renderImport(outcome, options)
    case 'export':
      return renderExport(outcome, options)
    default:
      return renderFailure(outcome, options)
  }
}
