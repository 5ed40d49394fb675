/**
 * The host as far as changes by hand need it, on a real directory: a file service with versions, the
 * rule that only what was read may be edited, and an approval service that answers what it is told.
 */
import type { FsObservation, FsTarget, FsWriteIntent } from '@deepseek-ai/dsh-fs'
import type { ApprovalOutcome } from '@deepseek-ai/dsh-user-approval'
import { realpathSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ByHandHost } from '../../src/file-writes/host.ts'
import type { TestMemory } from './test-memory.ts'

/** An error with a code, as the host's own are. */
export class HostError extends Error {
  override name = 'FsError'
  readonly code: string
  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}

/** What a test may turn, and what it may look at. */
export interface DiskHost extends ByHandHost {
  caller: ReturnType<ByHandHost['callerOf']>
  outcome: ApprovalOutcome | Error
  /** Reasons of the questions so far. */
  asked: string[]
  /** Called before each write; may change the disk or throw. */
  beforeWrite: (text: string) => void | Promise<void>
  /** Modes of the policies that writes came with. */
  modes: string[]
  /** The present observation of a path. */
  observation: (path: string) => FsObservation | undefined
  /** Observe a file as the host's `read` does. */
  read: (path: string) => Promise<void>
}

const LF = (text: string): string => text.replaceAll('\r\n', '\n')

async function versionOf({ targetKey }: FsTarget): Promise<string | undefined> {
  const stats = await stat(targetKey, { bigint: true }).catch(() => undefined)
  return stats === undefined ? undefined : `${stats.ino}:${stats.size}:${stats.mtimeNs}`
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return join(realPath(dirname(path)), basename(path))
  }
}

/** A host for one memory; every session is a main one and may write until told otherwise. */
export function diskHost({ paths, store }: TestMemory): DiskHost {
  const observations = new Map<string, FsObservation>()
  const resolve = async (path: string): Promise<FsTarget> => ({
    targetKey: realPath(path),
    displayPath: path,
  })
  const write = async (target: FsTarget, text: string): Promise<string> => {
    await host.beforeWrite(text)
    await writeFile(target.targetKey, text, { mode: 0o600 })
    return (await versionOf(target)) ?? ''
  }
  const assertVersion = async (target: FsTarget, wanted: string): Promise<void> => {
    if ((await versionOf(target)) === wanted) return
    throw new HostError('file changed since it was read', 'FS_STALE_VERSION')
  }
  const fs = {
    resolve,
    processPath: ({ targetKey }: FsTarget) => String(targetKey),
    readText: ({ targetKey }: FsTarget) => readFile(targetKey, 'utf8'),
    async stat(target: FsTarget) {
      const version = await versionOf(target)
      return version === undefined ? undefined : { version, type: 'file' }
    },
    async writeText(
      target: FsTarget,
      text: string,
      intent: FsWriteIntent | undefined,
      _signal: AbortSignal,
      policy: { mode: string },
    ) {
      host.modes.push(policy.mode)
      const before = await readFile(target.targetKey, 'utf8').catch(() => null)
      if (intent?.kind === 'replaceIfVersion') await assertVersion(target, intent.version)
      else if (before !== null) throw new HostError('cannot overwrite', 'FS_NOT_OBSERVED')
      const version = await write(target, text)
      return { operation: before === null ? 'create' : 'update', version, before, after: LF(text) }
    },
    async editText(
      target: FsTarget,
      { newString, oldString }: { oldString: string; newString: string },
      guard: { version: string } | undefined,
      _signal: AbortSignal,
      policy: { mode: string },
    ) {
      host.modes.push(policy.mode)
      if (guard !== undefined) await assertVersion(target, guard.version)
      const before = LF(await readFile(target.targetKey, 'utf8'))
      if (!before.includes(oldString)) throw new HostError('not found', 'FS_EDIT_NOT_FOUND')
      const after = before.replaceAll(oldString, newString)
      return { version: await write(target, after), before, after }
    },
  } as unknown as ByHandHost['fs']
  const host: DiskHost = {
    fs,
    caller: { project: paths, isSubAgent: false, sandboxMode: 'workspace-write', sessionId: 's1' },
    outcome: 'allowed-once',
    asked: [],
    modes: [],
    beforeWrite: () => undefined,
    observation: (path) => observations.get(realPath(path)),
    async read(path) {
      const target = await resolve(path)
      const version = (await versionOf(target)) ?? ''
      observations.set(target.targetKey, { kind: 'present', version })
    },
    async writeIntent({ targetKey }) {
      const known = observations.get(targetKey)
      return known?.kind === 'present'
        ? { kind: 'replaceIfVersion', version: known.version }
        : { kind: 'createIfAbsent' }
    },
    async editIntent({ targetKey }) {
      const known = observations.get(targetKey)
      if (known?.kind === 'present') return { version: known.version }
      throw new HostError('edit requires reading first', 'FS_NOT_OBSERVED')
    },
    observed: ({ targetKey }, observation) => observations.set(targetKey, observation),
    sandboxPolicy: { resolve: () => ({ mode: 'workspace-write', workspaceRoot: '/work/app' }) },
    async ask({ reason }) {
      host.asked.push(reason ?? '')
      if (host.outcome instanceof Error) throw host.outcome
      return host.outcome
    },
    callerOf: () => host.caller,
    storeOf: async () => store,
  }
  return host
}
