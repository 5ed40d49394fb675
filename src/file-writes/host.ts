/**
 * What changing files by hand needs of the host.
 *
 * Role: types only; `mount.ts` fills them from the host's context.
 */
import type { FileSystem, FsObservation, FsTarget, FsWriteIntent } from '@deepseek-ai/dsh-fs'
import type { FsVersion } from '@deepseek-ai/dsh-fs'
import type { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy'
import type { ToolDispatchExecution } from '@deepseek-ai/dsh-tools'
import type { ApprovalOutcome, ApprovalRequest } from '@deepseek-ai/dsh-user-approval'
import type { ProjectMemoryStore } from '../store/store.ts'
import type { CallerFacts } from '../tools/refusal.ts'
import type { ProjectMemoryPaths } from '../types.ts'

/** A tool call in dispatch. */
export type Call = Pick<ToolDispatchExecution, 'agent' | 'arguments' | 'callId' | 'name' | 'signal'>

/** Whoever the host's observation policy keeps its notes for. */
export type Actor = Pick<Call, 'agent'>

/** The host's files and what it knows of who has read them. */
export interface HostFiles {
  fs: Pick<FileSystem, 'editText' | 'processPath' | 'readText' | 'resolve' | 'stat' | 'writeText'>
  /** What a write has to keep to; `undefined` where the host has no such policy. */
  writeIntent: (target: FsTarget, actor: Actor) => Promise<FsWriteIntent | undefined>
  /** What an edit has to keep to. @throws the host's error when the file was not read. */
  editIntent: (target: FsTarget, actor: Actor) => Promise<{ version: FsVersion } | undefined>
  observed: (target: FsTarget, observation: FsObservation, actor: Actor) => void
}

/** Everything that a change by hand works with. */
export interface ByHandHost extends HostFiles {
  sandboxPolicy: Pick<SandboxPolicyService, 'resolve'>
  /** Ask whoever decides; a request that we may answer ourselves is answered with a grant. */
  ask: (request: ApprovalRequest) => Promise<ApprovalOutcome>
  callerOf: (agent: unknown) => CallerFacts
  storeOf: (project: ProjectMemoryPaths) => Promise<ProjectMemoryStore>
}
