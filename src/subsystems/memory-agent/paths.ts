/**
 * Where a path really leads, and whether that is inside the memory directory.
 *
 * Role: containment and sensitive names for the memory agent's writes and
 * removals, and the physical walk that the shell rules use as well. Reads the
 * disk (`lstat`, `readlink`), never changes it, never opens a file.
 * A path is judged twice, as the system would walk it and as a program that
 * normalises first would: with a link before a `..` the two differ, and only a
 * path that is contained both ways is contained.
 */
import { isUtf8 } from 'node:buffer'
import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'

/** Links followed before a path counts as unresolvable; Linux gives up after the same number. */
const MAX_LINKS = 40

/** Parts followed before a path counts as unresolvable: what fits into 4,096 bytes. */
const MAX_PARTS = 2048

/** Longest name of one file, in bytes, on the file systems in use. */
const MAX_NAME_BYTES = 255

/** Names that a memory may not have in its path; a tool or an editor gives them a meaning. */
const SENSITIVE_SEGMENTS: ReadonlySet<string> = new Set(
  (
    '.git hooks .husky .githooks node_modules .vscode .idea head config objects refs .zcode ' +
    'skills commands agents .cargo .devcontainer .yarn .mvn'
  ).split(' '),
)

/** Folder of forgotten memories; only the store writes there. */
const TRASH_SEGMENT = '.trash'

/** A path followed through every link. */
export interface PathWalk {
  /** Where it ends. Parts that do not exist are kept as written. */
  target: string
  /** Every physical place on the way, links included. */
  visited: readonly string[]
  /** The physical places that were links. */
  links: readonly string[]
}

/** The directories that a file argument is judged against; all absolute. */
export interface MemoryDirectories {
  rootDir: string
  workingDirectory: string
  workspaceRoot: string
}

/** What {@link resolveContainedMemoryFilePath} takes. */
export interface MemoryPathInput extends MemoryDirectories {
  /** As the model wrote it; anything but a non-empty string is not contained. */
  filePath: unknown
}

/**
 * Follows a path one part at a time, as the operating system does.
 * @param path - absolute, not normalised; `..` after a link leaves the link's target.
 * @returns `undefined` when it cannot be followed (no permission, a loop, NUL).
 */
export function walkPath(path: string): PathWalk | undefined {
  const visited: string[] = []
  const links: string[] = []
  let current = parse(path).root
  const pending = partsOf(path.slice(current.length)).toReversed()
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      current = dirname(current)
      continue
    }
    const next = join(current, part)
    const found = lookAt(next)
    if (visited.push(next) > MAX_PARTS || found === 'unknown') return undefined
    if (found === 'missing' || !found.isSymbolicLink()) {
      current = next
      continue
    }
    const target = targetOf(next)
    if (links.push(next) > MAX_LINKS || target === undefined) return undefined
    if (isAbsolute(target)) current = parse(target).root
    pending.push(...partsOf(target.slice(isAbsolute(target) ? current.length : 0)).toReversed())
  }
  return { target: current, visited, links }
}

/**
 * What stands at a path, not following a link.
 * @returns `'missing'` when nothing can be there, `'unknown'` when it cannot be told.
 */
export function lookAt(path: string): Stats | 'missing' | 'unknown' {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? 'missing'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // A path can be too long although a shorter way leads there; a name cannot.
    const isNameTooLong = Buffer.byteLength(basename(path)) > MAX_NAME_BYTES
    return code === 'ENAMETOOLONG' && isNameTooLong ? 'missing' : 'unknown'
  }
}

/**
 * Lexical containment.
 * @returns whether `target` lies below `parent`; the directory itself does not.
 */
export function isBelow(parent: string, target: string): boolean {
  const path = relative(parent, target)
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)
}

/**
 * @returns whether `path` is an existing directory and not a link to one.
 */
export function isPlainMemoryDirectory(path: string): boolean {
  const found = lookAt(path)
  return typeof found !== 'string' && found.isDirectory()
}

/**
 * Resolves a file argument and tells whether it stays in the memory directory.
 * The directory may be spelled as given or by its real path; links above it are
 * the user's choice, a link in it or in the place of it is refused.
 * @returns the absolute normalised path in its own spelling, `undefined` when
 *   it is not contained.
 * @throws TypeError when one of the directories is not absolute.
 */
export function resolveContainedMemoryFilePath(input: MemoryPathInput): string | undefined {
  return locate(input)?.path
}

/**
 * Whether a write or an edit of this path is one of a memory: contained, ending
 * in exactly `.md`, no sensitive name and none that looks like an option on the
 * way, and not something else than a regular file with one name.
 * @throws TypeError when one of the directories is not absolute.
 */
export function isSafeMemoryMarkdown(input: MemoryPathInput): boolean {
  const place = locate(input)
  if (place === undefined || !isMarkdownName(place.segments.at(-1))) return false
  const found = lookAt(place.path)
  const isPlain = typeof found === 'string' || (found.isFile() && found.nlink === 1)
  if (found === 'unknown' || !isPlain) return false
  if (place.segments.some((segment) => segment.startsWith('-'))) return false
  return !place.segments
    .map(comparable)
    .some((s) => SENSITIVE_SEGMENTS.has(s) || s === TRASH_SEGMENT)
}

/**
 * Whether a path may be removed: a contained `.md` that is neither the index
 * nor in the trash. Sensitive names do not count: what is there may go.
 * @throws TypeError when one of the directories is not absolute.
 */
export function isRemovableMemoryMarkdown(input: MemoryPathInput): boolean {
  const place = locate(input)
  if (place === undefined || !isMarkdownName(place.segments.at(-1))) return false
  const names = place.segments.map(comparable)
  return names.at(-1) !== 'memory.md' && !names.includes(TRASH_SEGMENT)
}

/**
 * @param directories - checked for being absolute, as a wrong one would make
 *   every later answer meaningless.
 * @throws TypeError naming the field.
 */
export function assertAbsoluteDirectories(directories: MemoryDirectories): void {
  for (const field of ['rootDir', 'workingDirectory', 'workspaceRoot'] as const) {
    const value: unknown = directories[field]
    if (typeof value !== 'string' || !isAbsolute(value)) {
      throw new TypeError(`${field} must be an absolute path`)
    }
  }
}

/** A contained path and its parts below the memory directory. */
interface Place {
  path: string
  segments: readonly string[]
}

function locate(input: MemoryPathInput): Place | undefined {
  assertAbsoluteDirectories(input)
  const { filePath, workingDirectory } = input
  if (typeof filePath !== 'string' || !isPlainPath(filePath)) return undefined
  const rootDir = resolve(input.rootDir)
  if (!isUnlinkedRoot(rootDir)) return undefined
  const root = walkPath(rootDir)?.target
  const path = resolve(workingDirectory, filePath)
  const asWritten = isAbsolute(filePath) ? filePath : `${workingDirectory}${sep}${filePath}`
  const walks = [walkPath(path), walkPath(asWritten)]
  if (root === undefined || walks[0]?.target !== walks[1]?.target) return undefined
  for (const walk of walks) {
    if (walk === undefined || !isBelow(root, walk.target)) return undefined
    if (walk.links.some((link) => isBelow(root, link))) return undefined
  }
  const segments = relative(root, walks[0]?.target ?? '').split(/[\\/]/u)
  return segments.includes('..') ? undefined : { path, segments }
}

/** No control character, no half of a surrogate pair, no home, network or URL form. */
function isPlainPath(path: string): boolean {
  if (path === '' || /[\p{Cc}\p{Cs}]/u.test(path)) return false
  return !/^(?:~|[\\/]{2}|[a-z][a-z0-9+.-]*:\/\/)/iu.test(path)
}

/** In the plugin's layout no folder from `projects` down may be a link, elsewhere not the root. */
function isUnlinkedRoot(root: string): boolean {
  const project = dirname(root)
  const projects = dirname(project)
  const own = basename(projects) === 'projects' ? [projects, project, root] : [root]
  return own.every((path) => {
    const found = lookAt(path)
    return found === 'missing' || (found !== 'unknown' && found.isDirectory())
  })
}

function isMarkdownName(name: string | undefined): boolean {
  return name !== undefined && name.endsWith('.md') && name !== '.md'
}

/**
 * The form in which names are compared: file systems ignore case, some ignore
 * invisible characters, Windows ignores a stream name and trailing dots.
 */
function comparable(segment: string): string {
  return segment
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu, '')
    .replace(/:.*$/su, '')
    .replace(/[. ]+$/u, '')
}

function partsOf(path: string): string[] {
  return path.split(sep === '/' ? '/' : /[\\/]/u)
}

function targetOf(link: string): string | undefined {
  try {
    const target = readlinkSync(link, 'buffer')
    // As text another file would be meant.
    return isUtf8(target) ? target.toString('utf8') : undefined
  } catch {
    // Removed between lstat and readlink: cannot be followed.
    return undefined
  }
}
