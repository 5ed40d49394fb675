/**
 * Why a session may not change its memory.
 *
 * Role: the checks that the save and the forget tool share, in one order. A
 * missing project and a sub-agent are normal results; a read-only session is an
 * error, because a person has chosen it.
 */
import { MemoryError } from '../errors.ts'
import type { ProjectMemoryPaths } from '../types.ts'

/** What is known about the calling session. */
export interface CallerFacts {
  project: ProjectMemoryPaths | undefined
  isSubAgent: boolean
  /** The host's sandbox mode for the session; `undefined` where the host has no sandbox policy. */
  sandboxMode: string | undefined
  /** Becomes the origin of what is saved; `undefined` outside a session. */
  sessionId: string | undefined
}

/** Either the project to change or the reason for a normal result without a change. */
export type Permission =
  | { project: ProjectMemoryPaths; reason: undefined }
  | { project: undefined; reason: string }

/**
 * @param facts - about the caller.
 * @param allowSubAgents - the setting `subagents: all`.
 * @param verb - `saved` or `forgotten`, for the text.
 * @throws MemoryError `READ_ONLY` naming the sandbox mode.
 */
export function permissionToChange(
  facts: CallerFacts,
  allowSubAgents: boolean,
  verb: 'saved' | 'forgotten',
): Permission {
  if (facts.isSubAgent && !allowSubAgents) {
    return {
      project: undefined,
      reason: `nothing was ${verb}: a sub-agent cannot change project memory; put the finding into your report`,
    }
  }
  if (facts.project === undefined) {
    return {
      project: undefined,
      reason: `nothing was ${verb}: this session has no working directory, so it belongs to no project`,
    }
  }
  if (facts.sandboxMode === 'read-only') {
    throw new MemoryError(
      'READ_ONLY',
      `nothing was ${verb}: the session's sandbox mode is read-only; ask the user to allow writing first`,
    )
  }
  return { project: facts.project, reason: undefined }
}
