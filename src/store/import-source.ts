/**
 * Where other programs keep the memories of the same project.
 *
 * Role: finds the folder and says how sure that is. ZCode's folder carries the
 * hash of the project's path; Claude Code turns every character that is no
 * letter or digit into a dash, so several paths share a folder, and only its
 * session logs tell whose it is. Reads the disk, changes nothing.
 */
import { join } from 'node:path'
import { mapBounded } from './context.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import { projectMemoryCandidates } from './paths.ts'
import { directoryExists } from './places.ts'
import { SAFE_READ_FLAGS } from './stable-read.ts'

/** Programs whose memories can be imported. */
export const IMPORT_PROGRAMS = ['zcode', 'claude-code'] as const

/** One of {@link IMPORT_PROGRAMS}. */
export type ImportProgram = (typeof IMPORT_PROGRAMS)[number]

/** Bytes of a session log's head in which its path is looked for (1 MiB); it is in the first lines. */
const LOG_HEAD_MAX_BYTES = 1024 * 1024

/** Most session logs of a folder that are looked at. */
const LOG_MAX_COUNT = 500

/** A folder with memories. */
export interface ImportSource {
  /** Absolute path of the folder that holds the memory files. */
  directory: string
  /**
   * Whether it is known to be this project's: by the hash in its name, by a session log, or because
   * the person named it.
   */
  isThisProject: boolean
  /** Paths of other projects whose sessions share the folder. */
  otherProjects: string[]
}

/** Options of {@link findImportSource}. */
export interface ImportSourceOptions {
  program: ImportProgram
  /** Project directory. */
  projectRoot: string
  /** The user's home directory, absolute. */
  home: string
  /** The folder that the person named, absolute. */
  folder?: string | undefined
  fileSystem?: FileSystem
}

/** @returns the working directory that a session log names first, `undefined` without one. */
function firstWorkingDirectory(head: string): string | undefined {
  for (const line of head.split('\n')) {
    if (!line.includes('"cwd"')) continue
    try {
      const { cwd } = JSON.parse(line) as { cwd?: unknown }
      if (typeof cwd === 'string') return cwd
    } catch {
      // Cut off at the end of what was read, or damaged; a later line may do.
    }
  }
  return undefined
}

async function readHead(path: string, fileSystem: FileSystem): Promise<string> {
  const handle = await fileSystem.open(path, SAFE_READ_FLAGS)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) return ''
    const buffer = Buffer.alloc(Math.min(LOG_HEAD_MAX_BYTES, stats.size))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** @returns the paths of the projects whose session logs lie in a folder of Claude Code. */
async function projectsOfLogs(folder: string, fileSystem: FileSystem): Promise<Set<string>> {
  const names = await fileSystem.readdir(folder).catch(() => [])
  const logs = names.filter((name) => name.endsWith('.jsonl')).slice(0, LOG_MAX_COUNT)
  const found = await mapBounded(logs, async (name) => {
    const head = await readHead(join(folder, name), fileSystem).catch(() => '')
    return firstWorkingDirectory(head)
  })
  return new Set(found.filter((path) => path !== undefined))
}

/**
 * The name of a project's folder in `~/.claude/projects`.
 * @param projectRoot - absolute path.
 */
export function claudeFolderName(projectRoot: string): string {
  return projectRoot.replaceAll(/[^A-Za-z0-9]/g, '-')
}

async function findClaudeSource(
  projectPaths: readonly string[],
  home: string,
  fileSystem: FileSystem,
): Promise<ImportSource | undefined> {
  let unsure: ImportSource | undefined
  for (const projectPath of projectPaths) {
    const folder = join(home, '.claude', 'projects', claudeFolderName(projectPath))
    const directory = join(folder, 'memory')
    if (!(await directoryExists(directory, fileSystem))) continue
    const projects = await projectsOfLogs(folder, fileSystem)
    const isThisProject = projectPaths.some((path) => projects.delete(path))
    const source = { directory, isThisProject, otherProjects: [...projects].sort() }
    if (isThisProject) return source
    unsure ??= source
  }
  return unsure
}

/**
 * Find another program's memories of a project.
 * @returns the folder; `undefined` when there is none.
 * @throws MemoryError `INVALID_ARGUMENT` when `projectRoot` is not a usable path.
 */
export async function findImportSource({
  program,
  projectRoot,
  home,
  folder,
  fileSystem = localFileSystem,
}: ImportSourceOptions): Promise<ImportSource | undefined> {
  if (folder !== undefined) {
    for (const directory of [join(folder, 'memory'), folder]) {
      if (await directoryExists(directory, fileSystem)) {
        return { directory, isThisProject: true, otherProjects: [] }
      }
    }
    return undefined
  }
  const { given, resolved } = projectMemoryCandidates(projectRoot, {
    DSH_HOME: join(home, '.zcode', 'cli'),
  })
  const candidates = given === undefined ? [resolved] : [resolved, given]
  if (program === 'claude-code') {
    const paths = candidates.map((candidate) => candidate.projectRoot)
    return findClaudeSource(paths, home, fileSystem)
  }
  for (const { root: directory } of candidates) {
    if (await directoryExists(directory, fileSystem)) {
      return { directory, isThisProject: true, otherProjects: [] }
    }
  }
  return undefined
}
