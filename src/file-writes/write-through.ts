/**
 * Writing a memory file for the host's `write` and `edit`.
 *
 * Role: repeats what those tools do after the sandbox has refused it, with the
 * host's own writer, version guard and observation, under the memory's lock.
 * The sandbox is set aside for this one file and call. The text is stamped with
 * its origin: before a write, and after an edit by a second write that must find
 * the file as the edit left it.
 */
import type { FsTarget, FsVersion } from '@deepseek-ai/dsh-fs'
import type { SandboxExecutionPolicy } from '@deepseek-ai/dsh-sandbox'
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { MemoryError } from '../errors.ts'
import { stampMemoryFile } from '../format/stamp.ts'
import type { ProjectMemoryStore } from '../store/store.ts'
import type { Call, HostFiles } from './host.ts'
import type { MemoryCall } from './memory-call.ts'
import type { MemoryFile } from './qualify.ts'
import { qualifyPath } from './qualify.ts'

/** One file to write, and what for. */
export interface FileChange {
  call: Call
  file: MemoryFile
  store: ProjectMemoryStore
  sessionId: string | undefined
  /** The session's policy; its mode is widened for this call. */
  policy: SandboxExecutionPolicy
}

type Change<Kind> = Extract<MemoryCall, { kind: Kind }>

/** What a host write needs again and again. */
interface Grant {
  target: FsTarget
  policy: SandboxExecutionPolicy
}

/** @throws MemoryError `UNSAFE_PATH` when the path has become another one since it was looked at. */
async function grantFor(
  host: HostFiles,
  { call, file, policy, store }: FileChange,
): Promise<Grant> {
  const present = await qualifyPath(file.path, store.paths.root, true)
  const target = await host.fs.resolve(file.path, { signal: call.signal })
  if (present === undefined || host.fs.processPath(target) !== present.realPath) {
    throw new MemoryError('UNSAFE_PATH', `${file.path} is no longer a memory file`, {
      path: file.path,
    })
  }
  return { target, policy: { ...policy, mode: 'danger-full-access' } }
}

function stamp(text: string, { file, sessionId }: FileChange): string {
  return file.isIndex || sessionId === undefined ? text : stampMemoryFile(text, sessionId)
}

/**
 * Write a whole file.
 * @returns the value of the host's `write` tool.
 * @throws what the host's writer or the store throws; the file is then as before.
 */
export function writeThrough(
  host: HostFiles,
  { content }: Change<'write'>,
  change: FileChange,
): Promise<JsonValue> {
  const { call, store } = change
  return store.exclusively(async () => {
    const { policy, target } = await grantFor(host, change)
    const intent = await host.writeIntent(target, call)
    const text = stamp(content, change)
    const outcome = await host.fs.writeText(target, text, intent, call.signal, policy)
    host.observed(target, { kind: 'present', version: outcome.version }, call)
    const { after, before, operation } = outcome
    return { path: target.displayPath, operation, before, after }
  }, call.signal)
}

/**
 * Replace text in a file.
 * @returns the value of the host's `edit` tool; its `after` is what stands in the file.
 * @throws what the host's writer or the store throws; the file is then as before.
 */
export function editThrough(
  host: HostFiles,
  { newString, oldString, replaceAll }: Change<'edit'>,
  change: FileChange,
): Promise<JsonValue> {
  const { call, store } = change
  return store.exclusively(async () => {
    const grant = await grantFor(host, change)
    const { policy, target } = grant
    const guard = await host.editIntent(target, call)
    const edit = { oldString, newString, replaceAll }
    const outcome = await host.fs.editText(target, edit, guard, call.signal, policy)
    host.observed(target, { kind: 'present', version: outcome.version }, call)
    const stamped = await stampEdited(host, change, grant, outcome.version)
    return { path: target.displayPath, before: outcome.before, after: stamped ?? outcome.after }
  }, call.signal)
}

/**
 * Stamp a file that was just edited. The edit stands without it, so this fails in silence.
 * @returns the text after it, `undefined` when there was nothing to stamp.
 */
async function stampEdited(
  host: HostFiles,
  change: FileChange,
  { policy, target }: Grant,
  version: FsVersion,
): Promise<string | undefined> {
  const { signal } = change.call
  try {
    const text = await host.fs.readText(target, signal)
    const stamped = stamp(text, change)
    if (stamped === text) return undefined
    const guard = { kind: 'replaceIfVersion' as const, version }
    const outcome = await host.fs.writeText(target, stamped, guard, signal, policy)
    host.observed(target, { kind: 'present', version: outcome.version }, change.call)
    return outcome.after
  } catch {
    // Aborted, or written by another program meanwhile: the origin stays unknown.
    return undefined
  }
}
