import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import type { ProjectMemoryStoreOptions } from '../../src/store/store.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import type { ProjectMemoryPaths } from '../../src/types.ts'
import type { WatchedFileSystem } from './faulty-file-system.mjs'
import { watchFileSystem } from './faulty-file-system.mjs'

/** Lock times for tests that wait for a lock: short, but long enough for a busy machine. */
export const SHORT_LOCK_TIMES = { heartbeatMs: 50, staleMs: 400, waitMs: 10_000 }

/** A memory in a temp directory of its own. */
export interface TestMemory {
  home: string
  paths: ProjectMemoryPaths
  store: ProjectMemoryStore
  lockPath: string
}

/** Where temp directories are made: in memory where the system has such a place, since many saves wait for the disk. */
export const TEMPORARY_BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Make a memory; nothing is on the disk but an empty `DSH_HOME`. Removed when the running test ends. */
export async function testMemory(options: ProjectMemoryStoreOptions = {}): Promise<TestMemory> {
  const home = await mkdtemp(join(TEMPORARY_BASE, 'project-memory-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const paths = resolveProjectMemoryPaths('/work/app', { DSH_HOME: home })
  return {
    home,
    paths,
    store: new ProjectMemoryStore(paths, options),
    lockPath: `${paths.root}.lock`,
  }
}

/** A memory whose store goes through a watched file system. */
export async function watchedMemory(
  options: Omit<ProjectMemoryStoreOptions, 'fileSystem'> = {},
): Promise<{ memory: TestMemory; watched: WatchedFileSystem }> {
  const watched = watchFileSystem()
  const memory = await testMemory({ ...options, fileSystem: watched.fileSystem })
  return { memory, watched }
}

/** Another store on the same memory, as another process would have it. */
export function anotherStore(
  { paths }: TestMemory,
  options: ProjectMemoryStoreOptions = {},
): ProjectMemoryStore {
  return new ProjectMemoryStore(paths, options)
}

/** Make the memory directory with files in it. */
export async function givenFiles(
  { paths }: TestMemory,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  await mkdir(paths.root, { recursive: true, mode: 0o700 })
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(paths.root, name), content)
  }
}

/** @returns the index's text, `''` without one. */
export async function indexOf({ paths }: TestMemory): Promise<string> {
  return readFile(paths.indexFilePath, 'utf8').catch(() => '')
}

/** @returns the text of a memory file. */
export function fileOf({ paths }: TestMemory, name: string): Promise<string> {
  return readFile(join(paths.root, name), 'utf8')
}

/** @returns the index's lines that are not blank. */
export async function linesOf(memory: TestMemory): Promise<string[]> {
  return (await indexOf(memory)).split('\n').filter((line) => line.trim() !== '')
}

/** @returns the names of the memory files, sorted. */
export async function memoryFilesOf({ paths }: TestMemory): Promise<string[]> {
  const names = await readdir(paths.root).catch(() => [])
  return names.filter((name) => name.endsWith('.md') && name !== 'MEMORY.md').sort()
}

/** @returns what should not be there once a save has ended: temp files, locks, moved locks. */
export async function litterOf({ paths }: TestMemory): Promise<string[]> {
  const inside = (await readdir(paths.root).catch(() => [])).filter((name) => !name.endsWith('.md'))
  const beside = (await readdir(dirname(paths.root)).catch(() => [])).filter(
    (name) => name !== 'memory',
  )
  return [...inside, ...beside]
}

/** @returns every file of the memory directory by name, as latin1 so that bytes compare. */
export async function snapshotOf({ paths }: TestMemory): Promise<Record<string, string>> {
  const snapshot: Record<string, string> = {}
  for (const name of await readdir(paths.root).catch(() => [])) {
    snapshot[name] = await readFile(join(paths.root, name), 'latin1')
  }
  return snapshot
}

/** Hold the lock from outside, so that saves have to wait. @returns how to let go of it. */
export async function holdLock(memory: TestMemory): Promise<() => Promise<void>> {
  await givenFiles(memory, {})
  await mkdir(memory.lockPath)
  return () => rmdir(memory.lockPath)
}

/** What a contender does to a lock that it takes for an orphan. */
export async function takeLockAway({ lockPath }: TestMemory): Promise<void> {
  await rename(lockPath, `${lockPath}.gone`)
  await rm(`${lockPath}.gone`, { recursive: true })
}
