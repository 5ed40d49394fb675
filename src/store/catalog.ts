/**
 * All memories of a project with what their files and the index say.
 *
 * Role: reading for people (commands, export). One damaged file hides only
 * itself: it is listed with the reason. Takes no lock and changes nothing; a
 * memory that is saved meanwhile is there in its old or its new form.
 */
import { join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { scanIndexEntries } from '../format/index-file.ts'
import { MEMORY_INDEX_FILE_NAME } from '../format/limits.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import type { MemoryRecallType, ProjectMemoryPaths } from '../types.ts'
import { mapBounded } from './context.ts'
import { checkDirectories } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import { isSafeMemoryFileName } from './paths.ts'
import { decodeUtf8, readError, readStableBytes } from './stable-read.ts'

/** One memory: its file, its index line, or both. */
export interface CatalogEntry {
  fileName: string
  filePath: string
  /** The title in the file, else the one in the index, else the file name without `.md`. */
  title: string
  type: MemoryRecallType | undefined
  description: string | undefined
  /** Session that wrote it, when known. */
  originSessionId: string | undefined
  /** Size and time of the file, ms since the epoch; 0 when there is none. */
  bytes: number
  mtimeMs: number
  /** Whether the index has a line for it. */
  isIndexed: boolean
  /** The whole file; `undefined` when it cannot be read. */
  text: string | undefined
  /** Why there is no text: one line, or `missing` for an index line without a file. */
  problem: string | undefined
}

/** What {@link readCatalog} found. */
export interface Catalog {
  /** Whether the project has a memory directory. */
  exists: boolean
  /** Most recently written first, equal times by name; index lines without a file last. */
  entries: CatalogEntry[]
  /** Text of the index, `''` without one. */
  indexText: string
  /** Why the index cannot be read, one line. */
  indexProblem: string | undefined
}

/** Stands for the reason of an index line whose file does not exist. */
export const MISSING_FILE = 'missing'

function reasonOf(error: unknown): string {
  if (error instanceof MemoryError) return error.message
  return `unexpected error${errnoOf(error) === undefined ? '' : ` (${errnoOf(error)})`}`
}

async function readText(path: string, fileSystem: FileSystem): Promise<string | undefined> {
  const read = await readStableBytes(path, { fileSystem })
  return read === undefined ? undefined : decodeUtf8(path, read.bytes)
}

async function readEntry(
  root: string,
  fileName: string,
  listedTitle: string | undefined,
  fileSystem: FileSystem,
): Promise<CatalogEntry> {
  const filePath = join(root, fileName)
  const stats = await fileSystem.lstat(filePath).catch(() => undefined)
  let text: string | undefined
  let problem: string | undefined
  try {
    text = await readText(filePath, fileSystem)
    if (text === undefined) problem = MISSING_FILE
  } catch (error) {
    problem = reasonOf(error)
  }
  const header = readMemoryHeader(text ?? '')
  return {
    fileName,
    filePath,
    title: header.title ?? (listedTitle || fileName.slice(0, -'.md'.length)),
    type: header.type,
    description: header.description,
    originSessionId: header.originSessionId,
    bytes: stats?.size ?? 0,
    mtimeMs: stats?.mtimeMs ?? 0,
    isIndexed: listedTitle !== undefined,
    text,
    problem,
  }
}

function newestFirst(one: CatalogEntry, other: CatalogEntry): number {
  return other.mtimeMs - one.mtimeMs || (one.fileName < other.fileName ? -1 : 1)
}

/**
 * Read every memory of a project, files directly in the memory directory only.
 * @throws MemoryError when the directory itself cannot be listed or is reached through a link.
 */
export async function readCatalog(
  { root }: ProjectMemoryPaths,
  fileSystem: FileSystem = localFileSystem,
): Promise<Catalog> {
  try {
    if (await checkDirectories(root, fileSystem)) return await readFolder(root, fileSystem)
  } catch (error) {
    throw readError(root, error)
  }
  return { exists: false, entries: [], indexText: '', indexProblem: undefined }
}

/**
 * The same for a folder of any program that keeps memories in this form.
 * @param directory - absolute path; must exist.
 * @throws the system's error when it cannot be listed.
 */
export async function readFolder(
  directory: string,
  fileSystem: FileSystem = localFileSystem,
): Promise<Catalog> {
  const names = await fileSystem.readdir(directory)
  let indexText = ''
  let indexProblem: string | undefined
  try {
    indexText = (await readText(join(directory, MEMORY_INDEX_FILE_NAME), fileSystem)) ?? ''
  } catch (error) {
    indexProblem = reasonOf(error)
  }
  const titles = new Map<string, string>()
  for (const { fileName, title } of scanIndexEntries(indexText)) {
    if (isSafeMemoryFileName(fileName) && !titles.has(fileName)) titles.set(fileName, title)
  }
  const fileNames = new Set([...names.filter(isSafeMemoryFileName), ...titles.keys()])
  const read = await mapBounded([...fileNames], (fileName) =>
    readEntry(directory, fileName, titles.get(fileName), fileSystem),
  )
  const entries = read.filter(({ isIndexed, problem }) => isIndexed || problem !== MISSING_FILE)
  return { exists: true, entries: entries.sort(newestFirst), indexText, indexProblem }
}
