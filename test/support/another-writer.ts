/** What another writer does to a memory of one rule while a change of ours is under way. */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileSystemCall } from './faulty-file-system.mjs'
import type { TestMemory } from './test-memory.ts'
import { givenFiles, takeLockAway, watchedMemory } from './test-memory.ts'

/** The index line of the rule. */
export const LINE = '- [Rule](rule.md) — hook'
/** A memory of one rule. */
export const FILES = { 'MEMORY.md': `${LINE}\n`, 'rule.md': 'body\n' }

/** Nothing can be had back any more. */
export async function emptyTrash({ paths }: TestMemory): Promise<void> {
  await rm(join(paths.root, '.trash'), { recursive: true, force: true })
  await mkdir(join(paths.root, '.trash'))
}

/** The new index is written, and not yet compared with the present one. */
export function isIndexStaging({ name, path }: FileSystemCall): boolean {
  return name === 'handle.sync' && path.includes('.MEMORY.md.tmp-')
}

/** What another process leaves that has undone the forget, lock included. */
export async function undoneByAnother(memory: TestMemory): Promise<void> {
  await takeLockAway(memory)
  await givenFiles(memory, FILES)
  await emptyTrash(memory)
}

/** The rule is in the trash. */
export async function forgottenMemory(): ReturnType<typeof watchedMemory> {
  const world = await watchedMemory()
  await givenFiles(world.memory, FILES)
  await world.memory.store.forget({ fileName: 'rule.md' })
  return world
}

/** The file of the rule is moved aside. */
export function isRemoval({ name, path }: FileSystemCall): boolean {
  return name === 'rename' && path.endsWith('/rule.md')
}

/** Another process has undone the forget and found the file still there. */
export async function relistedByAnother(memory: TestMemory): Promise<void> {
  await takeLockAway(memory)
  await givenFiles(memory, { 'MEMORY.md': FILES['MEMORY.md'] })
  await emptyTrash(memory)
}
