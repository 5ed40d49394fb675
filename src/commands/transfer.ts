/**
 * The verbs that bring memories in and out.
 *
 * Role: joins the other program's folder, the project's memory and the file that
 * a person asked for. Shell only: a session's memory is not moved by a command.
 */
import { MemoryError } from '../errors.ts'
import { readCatalog } from '../store/catalog.ts'
import type { ImportProgram } from '../store/import-source.ts'
import { findImportSource } from '../store/import-source.ts'
import type { ImportItem } from '../store/import.ts'
import { importMemories, planImport } from '../store/import.ts'
import { writeExportFile } from '../store/places.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { ExportFormat } from './export.ts'
import { renderExportFile } from './export.ts'
import type { ExportOutcome, ImportOutcome, ImportedItem } from './outcome.ts'

/** What {@link importFrom} takes. */
export interface ImportRequest {
  program: ImportProgram
  /** The project's path as given. */
  projectPath: string
  paths: ProjectMemoryPaths
  /** The user's home directory. */
  home: string
  /** Folder that the person named. */
  folder: string | undefined
  /** Whether to copy; else it is only said what would be. */
  apply: boolean
}

function toImportedItem(item: ImportItem): ImportedItem {
  const { bytes, fileName, mtimeMs, reason, state, title } = item
  const modified = mtimeMs === 0 ? null : new Date(mtimeMs).toISOString()
  return { fileName, title, bytes, modified, state, reason: reason ?? null }
}

/**
 * Copy another program's memories of the project, or say what would be copied.
 * A folder of which it cannot be told whose it is is not copied from unless it was named.
 * @throws MemoryError `INVALID_ARGUMENT` for a named folder that is none, or why the disk or the lock
 *   refused; nothing stays half copied.
 */
export async function importFrom(request: ImportRequest): Promise<ImportOutcome> {
  const { apply, folder, home, paths, program, projectPath } = request
  const source = await findImportSource({ program, projectRoot: projectPath, home, folder })
  const outcome: ImportOutcome = {
    kind: 'import',
    program,
    source: source?.directory ?? null,
    isThisProject: source?.isThisProject ?? false,
    otherProjects: source?.otherProjects ?? [],
    applied: false,
    needsFolder: source !== undefined && !source.isThisProject,
    directory: paths.root,
    items: [],
  }
  if (source === undefined && folder !== undefined) {
    throw new MemoryError('INVALID_ARGUMENT', `${folder} is no folder; check --folder`)
  }
  if (source === undefined) return outcome
  const applied = apply && source.isThisProject
  const items = applied
    ? await importMemories(source.directory, paths)
    : await planImport(source.directory, paths.root)
  return { ...outcome, applied, items: items.map(toImportedItem) }
}

/** What {@link exportTo} takes. */
export interface ExportRequest {
  paths: ProjectMemoryPaths
  format: ExportFormat
  /** Absolute path of the file, `undefined` for the text itself. */
  file: string | undefined
  mayReplace: boolean
  now: Date
}

/**
 * Write all memories into one file, or give its text.
 * @throws MemoryError `INVALID_ARGUMENT` when the file exists, or why it cannot be written.
 */
export async function exportTo(
  request: ExportRequest,
): Promise<{ outcome: ExportOutcome; text: string }> {
  const { file, format, mayReplace, now, paths } = request
  const { entries, indexText } = await readCatalog(paths)
  const readable = entries.filter(({ text }) => text !== undefined)
  const content = { project: paths.projectRoot, exportedAt: now, indexText, entries: readable }
  const text = renderExportFile(content, format)
  if (file !== undefined) await writeExportFile(file, text, mayReplace)
  const skipped = entries.flatMap(({ fileName, problem }) =>
    problem === undefined ? [] : [{ fileName, problem }],
  )
  const outcome: ExportOutcome = {
    kind: 'export',
    file: file ?? null,
    format,
    memories: readable.length,
    skipped,
  }
  return { outcome, text }
}
