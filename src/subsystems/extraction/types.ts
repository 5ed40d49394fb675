/**
 * Shapes of the extraction subsystem.
 *
 * Role: what a finished conversation looks like to the decision and the scheduler.
 * Every field that a transcript may lack is optional: odd messages are skipped, they
 * never make a decision throw.
 */

/** Words that one text part of a user message needs, to count as prose. */
export const MINIMUM_USER_WORDS = 3

export interface MemoryTranscriptTextPart {
  type: 'text'
  text: string
  /** Kept out of the model's view. */
  ignored?: boolean
  /** Written by the program, not by the person. */
  synthetic?: boolean
}

/** One tool call and, when known, how it ended. */
export interface MemoryTranscriptToolPart {
  type: 'tool'
  /** Name of the tool; `name` is read when it is absent. */
  tool?: string
  name?: string
  /** `input` is an object or the same as a JSON string. */
  state?: { input?: unknown; status?: string }
}

export interface MemoryTranscriptOtherPart {
  type: string
}

export type MemoryTranscriptPart =
  | MemoryTranscriptTextPart
  | MemoryTranscriptToolPart
  | MemoryTranscriptOtherPart

export interface MemoryTranscriptMessage {
  info: {
    id: string
    role: string
    /** Written by the program, not by the person. */
    synthetic?: boolean
    /** `'model-only'` is never shown to the person and never their prose. */
    visibility?: string
  }
  parts: readonly MemoryTranscriptPart[]
}

/** The conversation as it stood when the extraction was scheduled. */
export interface MemoryExtractionSnapshot {
  /** Id of the last message; the cursor after this snapshot is dealt with. */
  boundaryMessageId: string
  /** All messages up to and including the boundary, oldest first. */
  durableMessages: readonly MemoryTranscriptMessage[]
  /** Absolute path of the memory directory; without it no `write` or `edit` counts as direct. */
  memoryRoot?: string
  /** Absolute path that relative paths of tool calls are resolved against. */
  workingDirectory?: string
  workspaceRoot?: string
}

/** Messages alone, or a snapshot, which also knows the memory directory. */
export type MemoryTranscript = readonly MemoryTranscriptMessage[] | MemoryExtractionSnapshot

/** Whether an extraction is worth a run. `messageCount` = messages after the cursor. */
export type MemoryExtractionDecision =
  | { decision: 'run'; messageCount: number }
  | {
      decision: 'skip'
      messageCount: number
      reason: 'direct-memory-write' | 'no-user-prose'
    }
