/**
 * Telling the host that a session knows what `MEMORY.md` says.
 *
 * Role: the host lets a model edit only files that it has read, at the version
 * that it has read. An index that was injected whole has been read; and one
 * that the session knew stays known when our own tools change a line of it.
 * What another program has added in between is not known, so then nothing is
 * told and the model has to read the file. Never throws on its own account.
 */
import type { FsTarget, FsVersion } from '@deepseek-ai/dsh-fs'
import { removeIndexEntry } from '../format/index-file.ts'
import type { InjectedIndex } from '../session/injected-index.ts'
import { readMemoryFileStable } from '../store/stable-read.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { Actor, HostFiles } from './host.ts'

/** One version of the index, as the host names it. */
interface IndexVersion {
  target: FsTarget
  version: FsVersion
  text: string
}

/** @returns the index as it is now, `undefined` when it is missing, changing or unreadable. */
async function presentIndex(
  { fs }: HostFiles,
  { indexFilePath }: ProjectMemoryPaths,
): Promise<IndexVersion | undefined> {
  try {
    const target = await fs.resolve(indexFilePath)
    const before = await fs.stat(target)
    const { content, exists } = await readMemoryFileStable(indexFilePath)
    const after = await fs.stat(target)
    if (!exists || before === undefined || before.version !== after?.version) return undefined
    return { target, version: before.version, text: content }
  } catch {
    return undefined
  }
}

/** @returns the file's text as the view would show it if nothing were left out. */
function plainText(text: string): string {
  return text
    .replace(/^\ufeff/u, '')
    .replaceAll('\r\n', '\n')
    .trim()
}

/** Whether a session was given every line of the index as it stands in the file, at least one. */
export function isWhole(index: InjectedIndex): boolean {
  if (index.kind !== 'shown' || index.view.text === '') return false
  return index.view.text === plainText(index.indexText)
}

/**
 * Count an injected index as read, if it is whole and still what is on disk.
 * @param actor - the session that was given it.
 */
export async function observeInjectedIndex(
  host: HostFiles,
  actor: Actor,
  project: ProjectMemoryPaths,
  index: InjectedIndex,
): Promise<void> {
  if (index.kind !== 'shown' || !isWhole(index)) return
  const present = await presentIndex(host, project)
  if (present?.text !== index.indexText) return
  host.observed(present.target, { kind: 'present', version: present.version }, actor)
}

/** @returns the index, if the session has read just this version. */
async function knownIndex(
  host: HostFiles,
  actor: Actor,
  project: ProjectMemoryPaths,
): Promise<IndexVersion | undefined> {
  try {
    const guard = await host.editIntent(await host.fs.resolve(project.indexFilePath), actor)
    if (guard === undefined) return undefined
    const present = await presentIndex(host, project)
    return present?.version === guard.version ? present : undefined
  } catch {
    // Not read by this session, or seen to be missing.
    return undefined
  }
}

function withoutEntry(text: string, fileName: string): string {
  return removeIndexEntry(text, fileName).text.trimEnd()
}

/**
 * Run a change of one memory; a session that knew the index before it knows it after.
 * @param change - names the memory file whose line it changed.
 * @returns what `change` gives.
 * @throws what `change` throws.
 */
export async function keepIndexObserved<T extends { fileName: string }>(
  host: HostFiles,
  actor: Actor,
  project: ProjectMemoryPaths,
  change: () => Promise<T>,
): Promise<T> {
  const known = await knownIndex(host, actor, project)
  const result = await change()
  const present = known === undefined ? undefined : await presentIndex(host, project)
  if (known === undefined || present === undefined) return result
  const { fileName } = result
  if (withoutEntry(known.text, fileName) === withoutEntry(present.text, fileName)) {
    host.observed(present.target, { kind: 'present', version: present.version }, actor)
  }
  return result
}
