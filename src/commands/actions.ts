/**
 * The verbs that look at a memory and change it.
 *
 * Role: one implementation for `/memory` and the shell: store and names in, data
 * out. Knows no language, no terminal and no host. What is expected (an unknown
 * name, an empty trash) is a value; a failing disk throws the store's MemoryError.
 */
import { join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { stripLeadingFrontmatter } from '../format/index-view.ts'
import type { Catalog, CatalogEntry } from '../store/catalog.ts'
import { MISSING_FILE, readCatalog } from '../store/catalog.ts'
import type { Finding } from '../store/doctor.ts'
import type { Environment } from '../store/paths.ts'
import { projectMemoryCandidates, resolveDshHome } from '../store/paths.ts'
import { directoryExists, memoryAbove } from '../store/places.ts'
import type { ProjectMemoryStore } from '../store/store.ts'
import { TRASH_DIRECTORY_NAME } from '../store/trash.ts'
import { findByName } from './find.ts'
import type {
  DoctorOutcome,
  FailureOutcome,
  FindingItem,
  ForgetOutcome,
  ListOutcome,
  MemoryItem,
  MissingOutcome,
  NamedMemory,
  SearchOutcome,
  ShowOutcome,
  UndoOutcome,
  WhereOutcome,
} from './outcome.ts'
import { searchFor } from './search.ts'

/** Most matches of a search that are given. */
const SEARCH_MAX_MATCHES = 50

/** Most names that are listed of what can be had back. */
const KEPT_MAX_NAMES = 10

/** Which memory a verb is about. */
export interface MemoryScope {
  store: ProjectMemoryStore
  /** The project's path as the person or the session gave it. */
  projectPath: string
  env: Environment
}

/** @returns a catalog entry without its content, ready for JSON. */
export function toMemoryItem(entry: CatalogEntry): MemoryItem {
  return {
    fileName: entry.fileName,
    filePath: entry.filePath,
    title: entry.title,
    type: entry.type ?? null,
    description: entry.description ?? null,
    sessionId: entry.originSessionId ?? null,
    bytes: entry.bytes,
    modified: entry.mtimeMs === 0 ? null : new Date(entry.mtimeMs).toISOString(),
    indexed: entry.isIndexed,
    problem: entry.problem ?? null,
  }
}

/** @returns what follows the frontmatter of a memory file, without the blank lines in between. */
export function bodyOf(text: string): string {
  return stripLeadingFrontmatter(text).replace(/^(?:[ \t\r]*\n)+/, '')
}

/** All memories of the project. */
export async function listMemories({ store, projectPath, env }: MemoryScope): Promise<ListOutcome> {
  const catalog = await readCatalog(store.paths)
  return {
    kind: 'list',
    project: store.paths.projectRoot,
    directory: store.paths.root,
    exists: catalog.exists,
    indexProblem: catalog.indexProblem ?? null,
    memoryAbove: catalog.exists ? null : ((await memoryAbove(projectPath, env)) ?? null),
    memories: catalog.entries.map(toMemoryItem),
  }
}

function find(
  catalog: Catalog,
  verb: MissingOutcome['verb'],
  name: string,
): CatalogEntry | MissingOutcome {
  const found = findByName(catalog.entries, name)
  return found.kind === 'found' ? found.item : { ...found, verb, name }
}

/** One memory whole. */
export async function showMemory(
  { store }: MemoryScope,
  name: string,
): Promise<ShowOutcome | MissingOutcome> {
  const found = find(await readCatalog(store.paths), 'show', name)
  if ('kind' in found) return found
  return { kind: 'show', memory: toMemoryItem(found), body: bodyOf(found.text ?? '') }
}

/** The memories in which all words occur, the best match first, then the newest. */
export async function searchMemories(
  { store }: MemoryScope,
  words: string,
): Promise<SearchOutcome> {
  const { entries } = await readCatalog(store.paths)
  const look = searchFor(words)
  const found = entries.flatMap((entry) => {
    const { description = '', text = '', title } = entry
    const match = look?.({ title, description, body: bodyOf(text) })
    return match === undefined ? [] : [{ entry, match }]
  })
  const memories = found
    .toSorted((one, other) => other.match.score - one.match.score)
    .slice(0, SEARCH_MAX_MATCHES)
    .map(({ entry, match: { excerpt, matched } }) =>
      Object.assign(toMemoryItem(entry), { matched, excerpt }),
    )
  const searched = entries.filter(({ problem }) => problem === undefined).length
  return { kind: 'search', words, searched, memories }
}

/** How a memory is forgotten. */
export interface ForgetOptions {
  purge: boolean
  sessionId: string | undefined
  signal: AbortSignal | undefined
}

/**
 * Forget one memory. Durable when the promise resolves.
 * @throws MemoryError why the disk or the lock refused.
 */
export async function forgetMemory(
  { store }: MemoryScope,
  name: string,
  options: ForgetOptions,
): Promise<ForgetOutcome | MissingOutcome> {
  let found: NamedMemory | MissingOutcome = find(await readCatalog(store.paths), 'forget', name)
  if ('kind' in found && found.kind === 'missing' && options.purge) {
    // One that is forgotten already: its copies are to go too.
    const kept = findByName(await keptMemories(store), name)
    if (kept.kind === 'found') found = kept.item
  }
  if ('kind' in found) return found
  const { fileName, title, undoUntilMs } = await store.forget({
    fileName: found.fileName,
    ...options,
  })
  const undoUntil = undoUntilMs === undefined ? null : new Date(undoUntilMs).toISOString()
  return { kind: 'forget', fileName, title: title || found.title, undoUntil }
}

/** The memories that can be had back, forgotten last first; of several copies of one file the last. */
async function keptMemories(store: ProjectMemoryStore): Promise<NamedMemory[]> {
  const kept = new Map<string, NamedMemory>()
  for (const { record } of await store.listTrash()) {
    if (!kept.has(record.fileName)) kept.set(record.fileName, record)
  }
  return [...kept.values()].map(({ fileName, title }) => ({ fileName, title }))
}

/**
 * Bring a forgotten memory back; the last one without a name. Never overwrites.
 * @throws MemoryError `INVALID_ARGUMENT` when a file of its name exists again, or why the disk or the
 *   lock refused.
 */
export async function undoForget(
  { store }: MemoryScope,
  name: string | undefined,
  signal: AbortSignal | undefined,
): Promise<UndoOutcome | MissingOutcome> {
  const kept = await keptMemories(store)
  let fileName: string | undefined
  if (name !== undefined) {
    const found = findByName(kept, name)
    if (found.kind === 'missing') {
      return { kind: 'missing', verb: 'undo', name, candidates: kept.slice(0, KEPT_MAX_NAMES) }
    }
    if (found.kind !== 'found') return { ...found, verb: 'undo', name }
    fileName = found.item.fileName
  }
  if (kept.length === 0) return { kind: 'missing', verb: 'undo', name: null, candidates: [] }
  return { kind: 'undo', ...(await store.undo(fileName, signal)) }
}

/** The memory directory of another spelling of the path, when there is one; it is not used. */
async function otherDirectory({ store, projectPath, env }: MemoryScope): Promise<string | null> {
  const { given, resolved } = projectMemoryCandidates(projectPath, env)
  const other = [resolved, given].find(
    (candidate) => candidate !== undefined && candidate.root !== store.paths.root,
  )
  return other !== undefined && (await directoryExists(other.root)) ? other.root : null
}

function toFindingItem({ code, fileName, message, path, repair }: Finding): FindingItem {
  return { code, path, fileName: fileName ?? null, message, repair: repair ?? null }
}

/** What doctor found; {@link mend} takes it. */
export interface Examination {
  findings: readonly Finding[]
  outcome: DoctorOutcome
}

/** Look for what crashes, other programs or hand edits left behind. Changes nothing. */
export async function examine(scope: MemoryScope): Promise<Examination> {
  const findings = await scope.store.examine((await otherDirectory(scope)) ?? undefined)
  const items = findings.map(toFindingItem)
  const directory = scope.store.paths.root
  return {
    findings,
    outcome: { kind: 'doctor', directory, findings: items, repaired: null, remaining: items },
  }
}

/**
 * Mend what {@link examine} found and can be mended; no memory is deleted.
 * @throws MemoryError when the disk or the lock refuses; what was mended so far stays mended.
 */
export async function mend(
  scope: MemoryScope,
  { findings, outcome }: Examination,
): Promise<DoctorOutcome> {
  const canMend = findings.some((finding) => finding.repair !== undefined)
  const repaired = canMend ? await scope.store.repair(findings) : []
  const { outcome: after } = await examine(scope)
  return { ...outcome, repaired: repaired.map(toFindingItem), remaining: after.findings }
}

/** Where everything of the project's memory is. */
export async function locatePlaces(scope: MemoryScope): Promise<WhereOutcome> {
  const { paths } = scope.store
  const { entries, exists } = await readCatalog(paths)
  return {
    kind: 'where',
    project: paths.projectRoot,
    home: resolveDshHome(scope.env),
    directory: paths.root,
    exists,
    indexFile: paths.indexFilePath,
    trash: join(paths.root, TRASH_DIRECTORY_NAME),
    memories: entries.filter(({ problem }) => problem !== MISSING_FILE).length,
    inTrash: (await scope.store.listTrash()).length,
    otherDirectory: await otherDirectory(scope),
  }
}

/**
 * The failure of a verb as data.
 * @param error - what was thrown.
 * @throws the error itself when it is a mistake of ours: no MemoryError and none of the system.
 */
export function failureOf(error: unknown): FailureOutcome {
  if (error instanceof MemoryError) {
    return { kind: 'failure', code: error.code, message: error.message }
  }
  const errno = errnoOf(error)
  if (errno === undefined || !(error instanceof Error)) throw error
  return { kind: 'failure', code: errno, message: error.message }
}
