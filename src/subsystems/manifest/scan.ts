/**
 * Scan of a memory folder.
 *
 * Role: walks the folder through the port, asks every candidate for its time, and
 * reads the heads of the newest ones only. Damage stays local: a folder that cannot
 * be listed or a file that vanishes is left out, the others are listed. Lists no
 * folder behind a link, even when the port would.
 */
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { throwIfAborted, untilAborted } from './abort.ts'
import { mapBounded } from './bounded.ts'
import { readManifestMetadata } from './frontmatter.ts'
import { createLocalFileSystem } from './local-file-system.ts'
import {
  isMemoryFileName,
  isScannedFolderName,
  MANIFEST_FILE_LIMIT,
  MANIFEST_PREVIEW_LINE_LIMIT,
  type ManifestEntry,
  type ManifestFileSystem,
} from './types.ts'

/** Folders listed or heads read at the same time: each may hold an open file. */
const PARALLEL_OPENS = 16

/** Files asked for their time at the same time; that opens nothing. */
const PARALLEL_STATS = 64

/** Directory entries looked at in one turn of the event loop; takes about a millisecond. */
const ENTRIES_PER_TURN = 2000

/** What to scan. */
export interface ScanMemoryManifestOptions {
  /** The memory folder; a relative path is resolved against the working directory. */
  rootDir: string
  /** Default: the local disk, confined to `rootDir`. */
  fileSystem?: ManifestFileSystem | undefined
  signal?: AbortSignal | undefined
}

interface Scan {
  root: string
  port: ManifestFileSystem
  signal: AbortSignal | undefined
}

interface Candidate {
  filePath: string
  mtimeMs: number
}

/**
 * Lists the memories of a folder and its subfolders: names that end in `.md` (this
 * case) except the index, folders named `.trash` left out.
 *
 * @param options - see {@link ScanMemoryManifestOptions}.
 * @returns at most 200 entries, newest first, equal times by path in code-unit order. Empty when the folder is missing, unreadable, a file or a link.
 * @throws TypeError when `rootDir` is not a non-empty string; an error named
 *   `AbortError`, at once, when the signal is aborted. Nothing else, and the disk is
 *   never changed.
 */
export async function scanMemoryManifest(
  options: ScanMemoryManifestOptions,
): Promise<ManifestEntry[]> {
  const { rootDir, fileSystem, signal } = options
  if (typeof rootDir !== 'string' || rootDir === '') {
    throw new TypeError('rootDir must be the path of a memory folder.')
  }
  throwIfAborted(signal)
  const root = resolve(rootDir)
  const scan = { root, port: fileSystem ?? createLocalFileSystem(root), signal }
  return untilAborted(scanNewest(scan), signal)
}

async function scanNewest(scan: Scan): Promise<ManifestEntry[]> {
  const paths = await findMemoryFiles(scan)
  const asked = await mapBounded(paths, PARALLEL_STATS, (path) => askTime(scan, path))
  const candidates = asked.filter((candidate) => candidate !== undefined).sort(newestFirst)
  const entries: ManifestEntry[] = []
  let next = 0
  // A head that cannot be read makes room for the next older file.
  while (entries.length < MANIFEST_FILE_LIMIT && next < candidates.length) {
    const batch = candidates.slice(next, next + MANIFEST_FILE_LIMIT - entries.length)
    next += batch.length
    const read = await mapBounded(batch, PARALLEL_OPENS, (file) => readEntry(scan, file))
    entries.push(...read.filter((entry) => entry !== undefined))
  }
  return entries
}

/** Breadth first, so that the folders of one level are listed side by side. */
async function findMemoryFiles(scan: Scan): Promise<string[]> {
  const files = new Set<string>()
  let level = [scan.root]
  while (level.length > 0) {
    const folders = new Set<string>()
    await mapBounded(level, PARALLEL_OPENS, (folder) => list(scan, folder, { files, folders }))
    level = [...folders]
  }
  return [...files]
}

/** Adds the children of a folder that matter to the two sets, as absolute paths. */
async function list(
  scan: Scan,
  folder: string,
  found: { files: Set<string>; folders: Set<string> },
): Promise<void> {
  await attempt(scan, async (options) => {
    const { entries } = await scan.port.listDirectory({ path: folder }, options)
    for (const [index, { path: listedPath, kind }] of entries.entries()) {
      if (index % ENTRIES_PER_TURN === 0) await setImmediate()
      const path = childPath(scan.root, folder, listedPath)
      if (path === undefined) continue
      const name = basename(path)
      if (kind === 'directory' && isScannedFolderName(name)) found.folders.add(path)
      if ((kind === 'file' || kind === 'symlink') && isMemoryFileName(name)) found.files.add(path)
    }
  })
}

/** Absolute path of a listed entry, `undefined` when it is no direct child of the folder. */
function childPath(root: string, folder: string, path: string): string | undefined {
  const prefix = folder.endsWith(sep) ? folder : folder + sep
  const name = path.startsWith(prefix) ? path.slice(prefix.length) : ''
  if (name !== '' && name !== '.' && name !== '..' && !name.includes(sep)) return path
  const spellings = isAbsolute(path)
    ? [resolve(path)]
    : [resolve(root, path), resolve(folder, path)]
  return spellings.find((spelling) => spelling !== folder && dirname(spelling) === folder)
}

async function askTime(scan: Scan, filePath: string): Promise<Candidate | undefined> {
  const info = await attempt(scan, (options) => scan.port.stat({ path: filePath }, options))
  if (info?.kind !== 'file') return undefined
  const mtimeMs = Number.isFinite(info.mtimeMs) ? Number(info.mtimeMs) : 0
  return { filePath, mtimeMs }
}

function readEntry(scan: Scan, file: Candidate): Promise<ManifestEntry | undefined> {
  const { filePath, mtimeMs } = file
  const request = { path: filePath, offsetLine: 0, limitLines: MANIFEST_PREVIEW_LINE_LIMIT }
  return attempt(scan, async (options) => {
    const { content } = await scan.port.readTextFileRange(request, options)
    const filename = relative(scan.root, filePath).replaceAll(sep, '/')
    return { filePath, filename, mtimeMs, ...readManifestMetadata(content) }
  })
}

function newestFirst(a: Candidate, b: Candidate): number {
  if (a.mtimeMs !== b.mtimeMs) return b.mtimeMs - a.mtimeMs
  return a.filePath < b.filePath ? -1 : 1
}

/** One port call; a failure is an absence, unless the scan was aborted. */
async function attempt<Result>(
  { signal }: Scan,
  call: (options: { signal: AbortSignal | undefined }) => Promise<Result>,
): Promise<Result | undefined> {
  throwIfAborted(signal)
  try {
    return await call({ signal })
  } catch {
    throwIfAborted(signal)
    return undefined
  }
}
