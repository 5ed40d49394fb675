/**
 * Where a project's memory lives, and which paths in it may be touched.
 *
 * Role: derives the directory from the project path and the environment, and
 * answers whether a name or path is safe. Reads the disk only to resolve links.
 * `DSH_HOME` and `memories` may be links (people move them to another disk);
 * from `projects` down none is followed, see `directories.ts`.
 */
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { MemoryError } from '../errors.ts'
import { MEMORY_INDEX_FILE_NAME } from '../format/limits.ts'
import { firstIllFormedIndex } from '../format/text.ts'
import type { ProjectMemoryPaths } from '../types.ts'

/** Longest readable part of a project directory name, as in the reference. */
const PROJECT_SLUG_MAX_CHARS = 48

/** Hex digits of the path hash in a project directory name, as in the reference. */
const PROJECT_HASH_DIGITS = 16

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** How a project path with links in it is named. */
export type ProjectRootMode = 'resolved' | 'given'

/**
 * The harness home, by the host's own rule: blank `DSH_HOME` counts as unset,
 * a leading `~`, `~/` or `~\` is the user's home, the rest is made absolute.
 * @param env - environment, read at each call; default `process.env`.
 * @returns an absolute, normalised path; nothing is created.
 */
export function resolveDshHome(env: Environment = process.env): string {
  const value = env['DSH_HOME']
  if (value === undefined || value.trim() === '') return join(homedir(), '.dsh')
  if (value === '~') return homedir()
  if (value.startsWith('~/') || value.startsWith('~\\')) return join(homedir(), value.slice(2))
  return resolve(value)
}

/**
 * The readable part of a project's directory name.
 * @param name - base name of the project path.
 * @returns 1 to 48 characters of `[a-z0-9._-]`; `project` when nothing is left.
 */
export function projectSlug(name: string): string {
  const cleaned = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/gu, '-')
    .replace(/^-+|-+$/gu, '')
  return cleaned.slice(0, PROJECT_SLUG_MAX_CHARS) || 'project'
}

function pathsOf(projectRoot: string, home: string): ProjectMemoryPaths {
  const hashed = process.platform === 'win32' ? projectRoot.toLowerCase() : projectRoot
  const hash = createHash('sha256').update(hashed).digest('hex').slice(0, PROJECT_HASH_DIGITS)
  const slug = projectSlug(basename(projectRoot))
  const root = join(home, 'memories', 'projects', `${slug}-${hash}`, 'memory')
  return { root, indexFilePath: join(root, MEMORY_INDEX_FILE_NAME), slug, hash, projectRoot }
}

/**
 * The path with all links resolved.
 * @param path - absolute, normalised path.
 * @returns the path itself when it cannot be resolved (missing, no permission).
 */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Both candidate locations of one project; `given` is absent when both spellings are one path. */
export interface ProjectMemoryCandidates {
  resolved: ProjectMemoryPaths
  given?: ProjectMemoryPaths
}

/**
 * The directory of the resolved spelling of a project path and, when links make
 * it another one, that of the spelling as given.
 * @param projectRoot - project directory; relative to the working directory if not absolute.
 * @param env - environment with `DSH_HOME`.
 */
export function projectMemoryCandidates(
  projectRoot: string,
  env: Environment = process.env,
): ProjectMemoryCandidates {
  assertProjectRoot(projectRoot)
  const home = resolveDshHome(env)
  const given = resolve(projectRoot)
  const real = resolveLinks(given)
  const resolved = pathsOf(real, home)
  return real === given ? { resolved } : { resolved, given: pathsOf(given, home) }
}

function assertProjectRoot(projectRoot: unknown): asserts projectRoot is string {
  if (typeof projectRoot === 'string' && projectRoot !== '' && !projectRoot.includes('\0')) return
  throw new MemoryError(
    'INVALID_ARGUMENT',
    'projectRoot must be a non-empty path without NUL; pass the project directory',
  )
}

/**
 * Where a project's memory lives. All spellings of one path (`.`, `..`, a
 * trailing slash, links) give one directory; a directory that exists only under
 * the unresolved spelling is used. Nothing is created.
 * @param projectRoot - project directory; a relative path is resolved against the working directory.
 * @param env - environment with `DSH_HOME`, default `process.env`.
 * @param mode - `given` keeps the spelling: only normalised, links not resolved.
 * @throws MemoryError `INVALID_ARGUMENT` when `projectRoot` is not a usable path.
 */
export function resolveProjectMemoryPaths(
  projectRoot: string,
  env: Environment = process.env,
  mode: ProjectRootMode = 'resolved',
): ProjectMemoryPaths {
  const { resolved, given } = projectMemoryCandidates(projectRoot, env)
  if (given === undefined) return resolved
  if (mode === 'given') return given
  return !existsSync(resolved.root) && existsSync(given.root) ? given : resolved
}

/**
 * Assert that a path lies strictly inside the memory directory, comparing the
 * normalised texts (links are the business of the reader and the writer).
 * @param root - absolute memory directory.
 * @param target - absolute path to test.
 * @returns the normalised target.
 * @throws MemoryError `UNSAFE_PATH`; nothing was touched.
 */
export function assertContainedMemoryPath(root: string, target: string): string {
  const outside = (): MemoryError =>
    new MemoryError('UNSAFE_PATH', `the path is not inside the memory directory ${root}`, {
      path: root,
    })
  if (typeof target !== 'string' || target.includes('\0') || !isAbsolute(target)) throw outside()
  const normalised = resolve(target)
  const inner = relative(resolve(root), normalised)
  if (inner === '' || inner === '..' || inner.startsWith(`..${sep}`) || isAbsolute(inner)) {
    throw outside()
  }
  return normalised
}

/**
 * Whether a name is that of one Markdown file directly in the memory directory:
 * a single path segment of at most 255 bytes that ends in `.md` and is not the index.
 */
export function isSafeMemoryFileName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    name.endsWith('.md') &&
    name.length > 3 &&
    Buffer.byteLength(name) <= 255 &&
    !/^[.-]/u.test(name) &&
    !/[/\\:\p{Cc}]/u.test(name) &&
    firstIllFormedIndex(name) < 0 &&
    name.toLowerCase() !== MEMORY_INDEX_FILE_NAME.toLowerCase()
  )
}

/**
 * Assert that a name {@link isSafeMemoryFileName}.
 * @returns the name.
 * @throws MemoryError `UNSAFE_PATH`; nothing was touched.
 */
export function assertSafeMemoryFileName(name: string): string {
  if (isSafeMemoryFileName(name)) return name
  throw new MemoryError(
    'UNSAFE_PATH',
    'the file name must be a plain name ending in .md, without slashes, leading dot or dash, and not MEMORY.md',
  )
}
