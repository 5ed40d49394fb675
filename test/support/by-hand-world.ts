/**
 * A memory whose files a model changes with the host's tools, each call refused by the sandbox first.
 */
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { join } from 'node:path'
import { changeByHand } from '../../src/file-writes/by-hand.ts'
import type { Call } from '../../src/file-writes/host.ts'
import type { DiskHost } from './disk-host.ts'
import { diskHost } from './disk-host.ts'
import type { TestMemory } from './test-memory.ts'
import { givenFiles, testMemory } from './test-memory.ts'

/** The index of a world, unless it is given other files. */
export const INDEX = '- [A](a.md) — first\n'
const DENIED: ToolExecutionResult = {
  isError: true,
  error: { message: 'denied', info: { name: 'FsError', code: 'FS_SANDBOX_DENIED' } },
  content: [],
}
/** What the shell says of an `rm` that the sandbox refused. */
export const REFUSED_RUN: ToolExecutionResult = {
  isError: false,
  content: [],
  value: {
    kind: 'foreground',
    exitCode: 1,
    signal: null,
    timedOut: false,
    aborted: false,
    timeoutMs: 120_000,
    stdout: { text: '', truncated: false },
    stderr: { text: 'rm: Permission denied', truncated: false },
    sandbox: { mode: 'workspace-write', denied: true, enforcement: 'kernel' },
  },
}
/** The arguments of a second try. */
export const ESCALATION = { sandbox_permissions: 'danger-full-access', justification: 'to keep it' }

/** A memory and the calls on it; each resolves with `undefined` when it stays refused. */
export interface ByHandWorld extends TestMemory {
  host: DiskHost
  at: (name: string) => string
  write: (name: string, content: string, more?: object) => Promise<ToolExecutionResult | undefined>
  edit: (name: string, from: string, to: string) => Promise<ToolExecutionResult | undefined>
  run: (command: string, more?: object) => Promise<ToolExecutionResult | undefined>
}

/** Make one, with an index and one memory in it. */
export async function byHandWorld(
  files: Record<string, string> = { 'MEMORY.md': INDEX, 'a.md': 'A\n' },
) {
  const memory = await testMemory()
  if (Object.keys(files).length > 0) await givenFiles(memory, files)
  const host = diskHost(memory)
  const at = (name: string): string => join(memory.paths.root, name)
  const { signal } = new AbortController()
  const agent = { session: { id: 's1' } }
  const call = (name: string, args: object): Call =>
    ({ name, arguments: args, agent, callId: 'c1', signal }) as unknown as Call
  const dispatch = (name: string, args: object, refused: ToolExecutionResult) => {
    const isEscalated = 'sandbox_permissions' in args
    return changeByHand(host, call(name, args), isEscalated ? undefined : refused)
  }
  const made: ByHandWorld = {
    ...memory,
    host,
    at,
    write: (name, content, more = {}) =>
      dispatch('write', { file_path: at(name), content, ...more }, DENIED),
    edit: (name, from, to) =>
      dispatch('edit', { file_path: at(name), old_string: from, new_string: to }, DENIED),
    run: (command, more = {}) => dispatch('bash', { command, ...more }, REFUSED_RUN),
  }
  return made
}

/** A memory file without `metadata`, with lines added to its header. */
export const header = (...lines: string[]): string =>
  ['---', 'name: b', ...lines, '---', 'B', ''].join('\n')
/** What a stamp adds to {@link header}. */
export const STAMP = ['metadata:', '  node_type: memory', '  originSessionId: "s1"']
