/**
 * All memories of a project in one file.
 *
 * Role: pure text. The JSON form carries every file and the index byte for byte;
 * the Markdown form is for reading.
 */
import type { CatalogEntry } from '../store/catalog.ts'
import { bodyOf, toMemoryItem } from './actions.ts'

/** Names the shape of the JSON form. */
const EXPORT_FORMAT = 'dsh-zcode-project-memory/export'

/** Grows when the shape changes. */
const EXPORT_VERSION = 1

/** Forms of an export. */
export const EXPORT_FORMATS = ['markdown', 'json'] as const

/** One of {@link EXPORT_FORMATS}. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** What is exported. */
export interface ExportContent {
  project: string
  exportedAt: Date
  indexText: string
  /** Memories that could be read. */
  entries: readonly CatalogEntry[]
}

function jsonExport({ entries, exportedAt, indexText, project }: ExportContent): string {
  const memories = entries.map((entry) => {
    const { description, fileName, modified, sessionId, title, type } = toMemoryItem(entry)
    return { fileName, title, type, description, sessionId, modified, content: entry.text ?? '' }
  })
  const value = {
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    project,
    exportedAt: exportedAt.toISOString(),
    index: indexText,
    memories,
  }
  return `${JSON.stringify(value, undefined, 2)}\n`
}

function markdownMemory(entry: CatalogEntry): string {
  const { description, fileName, modified, title, type } = toMemoryItem(entry)
  const facts = [fileName, type, modified?.slice(0, 10)].filter((fact) => fact !== null)
  const lines = [`## ${title.replaceAll(/\s+/gu, ' ')}`, '', `*${facts.join(' · ')}*`, '']
  if (description !== null) lines.push(`> ${description.replaceAll(/\s+/gu, ' ')}`, '')
  return `${lines.join('\n')}\n${bodyOf(entry.text ?? '').trimEnd()}\n`
}

function markdownExport({ entries, exportedAt, project }: ExportContent): string {
  const head = `# Project memory of ${project}\n\n${entries.length} ${entries.length === 1 ? 'memory' : 'memories'}, ${exportedAt.toISOString()}\n`
  return [head, ...entries.map(markdownMemory)].join('\n---\n\n')
}

/** @returns the whole file in the given form. */
export function renderExportFile(content: ExportContent, format: ExportFormat): string {
  return format === 'json' ? jsonExport(content) : markdownExport(content)
}
