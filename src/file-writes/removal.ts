/**
 * Removing memory files for a plain `rm` of the host's shell.
 *
 * Role: each file goes to the trash; the index is the model's to edit. The
 * result is that of the command: empty, or `rm`'s complaint and exit code 1.
 */
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import type { ProjectMemoryStore } from '../store/store.ts'
import type { Call, HostFiles } from './host.ts'
import type { MemoryFile } from './qualify.ts'

/** What is to be removed, and for whom. */
export interface Removal {
  call: Call
  files: readonly MemoryFile[]
  store: ProjectMemoryStore
  sessionId: string | undefined
  /** The value of the run that the sandbox refused; `undefined` when nothing ran. */
  refused: JsonValue | undefined
}

/**
 * Remove the files, in their order; the first that cannot be removed ends it.
 * @returns the value of the host's `bash` tool.
 */
export async function removeThrough(host: HostFiles, removal: Removal): Promise<JsonValue> {
  const { call, files, sessionId, store } = removal
  for (const { exists, fileName, path } of files) {
    if (!exists) continue
    try {
      await store.removeFile({ fileName, sessionId, signal: call.signal })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return shellValue(removal.refused, 1, `rm: cannot remove '${path}': ${reason}\n`)
    }
    const target = await host.fs.resolve(path, { signal: call.signal })
    host.observed(target, { kind: 'absent' }, call)
  }
  return shellValue(removal.refused, 0, '')
}

function shellValue(
  refused: JsonValue | undefined,
  exitCode: number,
  complaint: string,
): JsonValue {
  const base = typeof refused === 'object' && !Array.isArray(refused) ? (refused ?? {}) : {}
  const sandbox = 'sandbox' in base ? (base['sandbox'] as object) : { mode: 'workspace-write' }
  return {
    timeoutMs: 0,
    ...base,
    kind: 'foreground',
    exitCode,
    signal: null,
    timedOut: false,
    aborted: false,
    stdout: { text: '', truncated: false },
    stderr: { text: complaint, truncated: false },
    sandbox: { ...sandbox, denied: false } as JsonValue,
  }
}
