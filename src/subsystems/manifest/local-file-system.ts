/**
 * Default port: the local disk below one folder.
 *
 * Role: the only part of the manifest that touches `node:fs`. From
 * `memories/projects` down no link to a folder is followed, the scanned folder
 * itself included; a link to a file is followed only to a regular file inside the
 * folder, neither the index nor the trash. An open never blocks, not even on a FIFO,
 * and what is no regular file is closed unread.
 */
import { closeSync, constants, fstatSync, lstat, open, type Stats } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { sharePerTurn } from './bounded.ts'
import { type LineRange, readLineRange } from './read-line-range.ts'
import { isListedLinkTarget, type ManifestEntryKind, type ManifestFileSystem } from './types.ts'

// Called once per file: without the file handles of `node:fs/promises` they cost half.
const describePath = promisify(lstat)
const openFile = promisify(open)

const OUTSIDE_CODE = 'OUTSIDE_MEMORY_ROOT'

/** Both extra flags are absent on Windows, where they then add nothing. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Whether an open refuses a link in the last place, so that only folders need a check. */
const REFUSES_LINKS = Boolean(constants.O_NOFOLLOW)

/**
 * @param rootDir - folder that will be scanned; resolved against the working directory.
 * @returns a port confined to it. Its methods reject with an `Error` whose `code` is
 *   the system's, or `OUTSIDE_MEMORY_ROOT` / `NOT_REGULAR_FILE`. It holds no handles.
 */
export function createLocalFileSystem(rootDir: string): ManifestFileSystem {
  const root = resolve(rootDir)
  let resolvedRoot: Promise<string> | undefined
  const realRoot = (): Promise<string> => (resolvedRoot ??= resolveRoot(root))

  /** Where the path lies when no link stands in it. */
  const unlinked = async (path: string): Promise<string> =>
    join(await realRoot(), relative(root, path))

  const linkTarget = async (path: string): Promise<string> => {
    const [base, target] = await Promise.all([realRoot(), realpath(path)])
    if (!isContainedTarget(base, target)) throw outside(path)
    return target
  }

  const statLinkTarget = async (path: string): Promise<Stats> =>
    describePath(await linkTarget(path))

  return {
    listDirectory: async ({ path }) => {
      const [expected, real] = await Promise.all([unlinked(path), realpath(path)])
      if (real !== expected) throw outside(path)
      const prefix = path.endsWith(sep) ? path : path + sep
      const entries = await readdir(path, { withFileTypes: true })
      return {
        entries: entries.map((entry) => ({ path: prefix + entry.name, kind: kindOf(entry) })),
      }
    },
    stat: async ({ path }) => {
      const own = await describePath(path)
      if (!own.isSymbolicLink()) return describe(own)
      const target = await statLinkTarget(path).catch(() => undefined)
      return describe(target?.isFile() === true ? target : own)
    },
    readTextFileRange: async ({ path, offsetLine, limitLines }) => {
      const range = { offsetLine, limitLines }
      try {
        return await readUnlinked(path, await unlinked(path), range)
      } catch (error) {
        if (!isLinkInTheWay(error)) throw error
        const target = await linkTarget(path)
        return readUnlinked(target, target, range)
      }
    },
  }
}

/** Asked after the request, once for all files of a folder that are open in that turn. */
const placeAfterwards = sharePerTurn((path) => realpath(path))

/**
 * Reads a regular file by a path that holds no link. Its place is checked after
 * opening: before, a link could still take the place of one of its folders. The two
 * synchronous calls concern an open descriptor and touch no disk.
 */
async function readUnlinked(
  path: string,
  expected: string,
  range: LineRange,
): Promise<{ content: string }> {
  const checked = REFUSES_LINKS ? dirname : normalize
  const fd = await openFile(path, OPEN_FLAGS)
  try {
    const info = fstatSync(fd)
    if (!info.isFile()) throw coded('NOT_REGULAR_FILE', `${path} is not a regular file`)
    // Both have ended before the descriptor is closed and its number used again.
    const [place, content] = await Promise.allSettled([
      placeAfterwards(checked(path)),
      readLineRange(fd, info.size, range),
    ])
    if (place.status === 'rejected') throw place.reason
    if (place.value !== checked(expected)) throw outside(path)
    if (content.status === 'rejected') throw content.reason
    return { content: content.value }
  } finally {
    closeSync(fd)
  }
}

/** Without a no-follow flag, as on Windows, the link shows only in the resolved path. */
function isLinkInTheWay(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  return error.code === 'ELOOP' || error.code === 'EMLINK' || error.code === OUTSIDE_CODE
}

/** The real path of the folder; rejects when a link stands where none may. */
async function resolveRoot(root: string): Promise<string> {
  const guarded = [root]
  const project = dirname(root)
  const projects = dirname(project)
  const hasMemoryLayout =
    basename(root) === 'memory' &&
    basename(projects) === 'projects' &&
    basename(dirname(projects)) === 'memories'
  if (hasMemoryLayout) guarded.push(project, projects)
  for (const path of guarded) {
    const info = await describePath(path)
    if (!info.isDirectory()) throw outside(path)
  }
  return realpath(root)
}

function isContainedTarget(base: string, real: string): boolean {
  const path = relative(base, real)
  if (path === '' || isAbsolute(path)) return false
  const segments = path.split(sep)
  return segments[0] !== '..' && isListedLinkTarget(segments)
}

function describe(info: Stats): { kind: ManifestEntryKind; mtimeMs: number; size: number } {
  return { kind: kindOf(info), mtimeMs: info.mtimeMs, size: info.size }
}

function kindOf(
  entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>,
): ManifestEntryKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'symlink' : 'other'
}

function outside(path: string): Error {
  return coded(OUTSIDE_CODE, `${path} is not inside the scanned folder without links`)
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
