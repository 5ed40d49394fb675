/**
 * Copying memories of another program into a project's memory.
 *
 * Role: a plan that can be shown first, and the same plan carried out under the
 * lock. Nothing is overwritten: a file that exists stays as it is. Bytes and
 * modification times are copied, so the session that wrote a memory and its age
 * stay known; only its index line is written anew, by our rules.
 */
import { join } from 'node:path'
import type { IndexEntryLine } from '../format/index-file.ts'
import { scanIndexEntries, upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { stripLeadingFrontmatter } from '../format/index-strip.ts'
import { MEMORY_INDEX_FILE_NAME } from '../format/limits.ts'
import { deriveDescription, readMemoryHeader } from '../format/memory-file.ts'
import type { IndexEntry, ProjectMemoryPaths } from '../types.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { MISSING_FILE, readFolder } from './catalog.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import { ensureDirectories, syncDirectory } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { DEFAULT_LOCK_TIMES } from './lock.ts'
import { isSafeMemoryFileName } from './paths.ts'
import type { PublishedFile } from './rollback.ts'
import { restoreFile, rollBack, withOutcome } from './rollback.ts'
import { readError, readStableBytes } from './stable-read.ts'

/**
 * What becomes of a file.
 *
 * - `new`: it is copied.
 * - `present`: the same bytes are there already.
 * - `differs`: a file of this name has other content and stays as it is.
 * - `refused`: it cannot be a memory, see `reason`.
 */
export type ImportState = 'new' | 'present' | 'differs' | 'refused'

/** One file of the other program. */
export interface ImportItem {
  fileName: string
  title: string
  bytes: number
  mtimeMs: number
  state: ImportState
  /** Why it is refused, one line. */
  reason: string | undefined
}

interface PlannedFile extends ImportItem {
  text: string
  entry: IndexEntry
}

const LINK_OR_NAME = /^.*?(?:\]\([^)]*\)|\.md(?=:))\s*/i
const SEPARATOR = /^(?:—|–|--?|:)\s*/

/** @returns what an index line says after its link. */
function hookOf(line: string): string {
  return line.replace(LINK_OR_NAME, '').replace(SEPARATOR, '').trim()
}

function plannedEntry(entry: CatalogEntry, text: string, line: string | undefined): IndexEntry {
  const { name, description } = readMemoryHeader(text)
  const stem = entry.fileName.slice(0, -'.md'.length)
  const listedHook = line === undefined ? '' : hookOf(line)
  return {
    title: entry.title === stem ? (name ?? stem) : entry.title,
    fileName: entry.fileName,
    hook: listedHook || (description ?? deriveDescription(stripLeadingFrontmatter(text))),
  }
}

/** Files in the order of the other index, those without a line after them, oldest first. */
function inIndexOrder(catalog: Catalog, lines: readonly IndexEntryLine[]): CatalogEntry[] {
  const place = new Map(lines.map(({ fileName }, index) => [fileName, index]))
  const placeOf = ({ fileName }: CatalogEntry): number => place.get(fileName) ?? lines.length
  return catalog.entries.toReversed().sort((one, other) => placeOf(one) - placeOf(other))
}

async function stateIn(root: string, fileName: string, text: string, fileSystem: FileSystem) {
  const path = join(root, fileName)
  try {
    const present = await readStableBytes(path, { fileSystem })
    if (present === undefined) return 'new'
    return present.bytes.equals(Buffer.from(text)) ? 'present' : 'differs'
  } catch {
    return 'differs'
  }
}

async function plan(
  directory: string,
  root: string,
  fileSystem: FileSystem,
): Promise<(ImportItem | PlannedFile)[]> {
  const catalog = await readFolder(directory, fileSystem)
  const lines = scanIndexEntries(catalog.indexText)
  const lineOf = new Map(
    lines.map(({ fileName, start, end }) => [fileName, catalog.indexText.slice(start, end)]),
  )
  const files = inIndexOrder(catalog, lines).filter(({ problem }) => problem !== MISSING_FILE)
  const items = await mapBounded(files, async (file): Promise<ImportItem | PlannedFile> => {
    const { bytes, fileName, mtimeMs, problem, text, title } = file
    const item = { fileName, title, bytes, mtimeMs }
    if (text === undefined) return { ...item, state: 'refused', reason: problem }
    const entry = plannedEntry(file, text, lineOf.get(fileName))
    const state = await stateIn(root, fileName, text, fileSystem)
    return { ...item, title: entry.title, state, reason: undefined, text, entry }
  })
  return [...items, ...(await unsafeNames(directory, fileSystem))]
}

/** Markdown files whose names a memory cannot have. */
async function unsafeNames(directory: string, fileSystem: FileSystem): Promise<ImportItem[]> {
  const isCandidate = (name: string): boolean =>
    /\.md$/i.test(name) && name.toLowerCase() !== MEMORY_INDEX_FILE_NAME.toLowerCase()
  return (await fileSystem.readdir(directory))
    .filter((name) => isCandidate(name) && !isSafeMemoryFileName(name))
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map((fileName) => ({
      fileName,
      title: fileName,
      bytes: 0,
      mtimeMs: 0,
      state: 'refused',
      reason: 'a memory cannot have this file name',
    }))
}

function toItem({ fileName, title, bytes, mtimeMs, state, reason }: ImportItem): ImportItem {
  return { fileName, title, bytes, mtimeMs, state, reason }
}

/**
 * Say what an import would do. Changes nothing.
 * @param directory - folder with memory files, absolute.
 * @param root - the project's memory directory; may be missing.
 * @returns items in the order in which their index lines will stand.
 * @throws MemoryError when the folder cannot be listed.
 */
export async function planImport(
  directory: string,
  root: string,
  fileSystem: FileSystem = localFileSystem,
): Promise<ImportItem[]> {
  try {
    return (await plan(directory, root, fileSystem)).map(toItem)
  } catch (error) {
    throw readError(directory, error)
  }
}

class Import {
  readonly #context: StoreContext
  readonly #directory: string
  readonly #published: PublishedFile[] = []
  #isIndexed = false

  constructor(context: StoreContext, directory: string) {
    this.#context = context
    this.#directory = directory
  }

  async attempt(lock: Lock): Promise<Attempt<ImportItem[]>> {
    const { fileSystem, paths } = this.#context
    const items = await plan(this.#directory, paths.root, fileSystem)
    const files = items.filter((item) => 'text' in item)
    const index = await readIndexVersion(this.#context)
    const listed = new Set(
      scanIndexEntries(index.text, utf8BytesCodec).map(({ fileName }) => fileName),
    )
    if (!(await lock.isHeld())) return RETRY
    for (const file of files) {
      if (file.state === 'new' && !(await this.#copy(file))) file.state = 'differs'
    }
    await syncDirectory(paths.root, fileSystem)
    const entries = files
      .filter(({ fileName, state }) => state !== 'differs' && !listed.has(fileName))
      .map(({ entry }) => entry)
    const { text } = upsertIndexEntries(index.text, entries, utf8BytesCodec)
    if (text !== index.text) {
      if (!(await publishIndex(this.#context, lock, index, text))) return RETRY
      this.#isIndexed = true
      await syncDirectory(paths.root, fileSystem)
    }
    const copied = new Set(this.#published.map(({ filePath }) => filePath))
    const value = items.map((item) => {
      const isOurs = copied.has(join(paths.root, item.fileName))
      return toItem(isOurs ? { ...item, state: 'new' } : item)
    })
    return { isDone: true, value }
  }

  /**
   * Remove what was copied, unless the index tells of it already or somebody else may: without the
   * lock an import of the same folder may have listed it.
   * @returns the error to report.
   */
  async takeBack(error: unknown, lock: Lock | undefined): Promise<unknown> {
    if (this.#isIndexed || this.#published.length === 0) return error
    if ((await lock?.isHeld()) === true) {
      const mayGo = async (): Promise<boolean> => lock?.isHeld() ?? false
      const published = this.#published.map((file) => ({ ...file, mayGo }))
      return rollBack(this.#context, published, error)
    }
    if (!(error instanceof Error)) return error
    return withOutcome(error, 'the copied files stay; doctor fix gives them lines in the index')
  }

  /** @returns `false` when a file of this name has appeared meanwhile. */
  async #copy({ fileName, mtimeMs, text }: PlannedFile): Promise<boolean> {
    const { fileSystem, paths } = this.#context
    const filePath = join(paths.root, fileName)
    const content = Buffer.from(text)
    const restored = await restoreFile(filePath, { bytes: content, mtimeMs }, fileSystem)
    if (restored === undefined) return false
    const { inode } = restored
    this.#published.push({ filePath, content, inode, previous: undefined, isVisible: true })
    return true
  }
}

/**
 * Copy what of a folder is new, and give every copied memory an index line.
 * Durable when the promise resolves. Waits for the lock of other processes, but
 * not for what a store of this process has queued.
 * @param directory - folder with memory files, absolute.
 * @param paths - the project's memory; its directory is made when missing.
 * @returns as {@link planImport}; `new` is what was copied now.
 * @throws MemoryError when the disk or the lock refuses; copies of this call are removed again, or
 *   all is visible and only not known to be durable.
 */
export async function importMemories(
  directory: string,
  paths: ProjectMemoryPaths,
  fileSystem: FileSystem = localFileSystem,
): Promise<ImportItem[]> {
  const lockPath = `${paths.root}.lock`
  const context: StoreContext = { paths, lockPath, fileSystem, lockTimes: DEFAULT_LOCK_TIMES }
  await ensureDirectories(paths.root, fileSystem)
  const work = new Import(context, directory)
  return runLocked(context, (lock) => work.attempt(lock), {
    onFailure: (error, lock) => work.takeBack(error, lock),
  })
}
