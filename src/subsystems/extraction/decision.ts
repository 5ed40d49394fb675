/**
 * Decides whether the messages after the cursor are worth an extraction.
 *
 * Role: pure functions over a transcript. A cursor is the id of the last message that
 * was dealt with. An id that is not in the transcript (compaction, another branch)
 * counts as no cursor, except that a direct write is then not searched for: it may
 * lie in the part that was dealt with long ago.
 */
import { isDirectMemoryWrite } from './direct-write.ts'
import {
  MINIMUM_USER_WORDS,
  type MemoryExtractionDecision,
  type MemoryExtractionSnapshot,
  type MemoryTranscript,
  type MemoryTranscriptMessage,
  type MemoryTranscriptTextPart,
} from './types.ts'
import { hasWords } from './words.ts'

/**
 * Checks in this order: a direct memory write, then user prose.
 * @param snapshot - never changed.
 * @param cursor - id of the last message dealt with, if any.
 * @returns `run`, or `skip` with the reason; always with the number of new messages.
 * @throws TypeError naming the field when the snapshot has no messages.
 */
export function evaluateMemoryExtraction(
  snapshot: MemoryExtractionSnapshot,
  cursor?: string,
): MemoryExtractionDecision {
  if (
    !Array.isArray((snapshot as Partial<MemoryExtractionSnapshot> | undefined)?.durableMessages)
  ) {
    throw new TypeError('snapshot.durableMessages must be an array')
  }
  const messageCount = countMessagesAfterCursor(snapshot, cursor)
  if (containsDirectMemoryWrite(snapshot, cursor)) {
    return { decision: 'skip', messageCount, reason: 'direct-memory-write' }
  }
  if (!containsEligibleUserProse(snapshot, cursor)) {
    return { decision: 'skip', messageCount, reason: 'no-user-prose' }
  }
  return { decision: 'run', messageCount }
}

/**
 * @param cursor - id of the last message dealt with; unknown ids count as none.
 * @returns how many messages come after it, never negative.
 */
export function countMessagesAfterCursor(transcript: MemoryTranscript, cursor?: string): number {
  return messagesAfter(transcript, cursor).messages.length
}

/**
 * @param transcript - `write` and `edit` count only with a snapshot that has a
 *   `memoryRoot`; the two memory tools count always.
 * @param cursor - id of the last message dealt with; an unknown id gives `false`.
 * @returns whether the assistant changed the memory itself after the cursor, by a call
 *   that is not known to have failed.
 */
export function containsDirectMemoryWrite(transcript: MemoryTranscript, cursor?: string): boolean {
  const { messages, isCursorLost } = messagesAfter(transcript, cursor)
  if (isCursorLost) return false
  const place = isSnapshot(transcript) ? transcript : {}
  return messages.some(
    ({ info, parts }) =>
      info.role === 'assistant' && parts.some((part) => isDirectMemoryWrite(part, place)),
  )
}

/**
 * @param cursor - id of the last message dealt with; unknown ids count as none.
 * @returns whether a person wrote at least three words in one text part after it.
 */
export function containsEligibleUserProse(transcript: MemoryTranscript, cursor?: string): boolean {
  return messagesAfter(transcript, cursor).messages.some(isUserProse)
}

function isUserProse({ info, parts }: MemoryTranscriptMessage): boolean {
  if (info.role !== 'user' || info.synthetic === true || info.visibility === 'model-only') {
    return false
  }
  return parts.some((part) => {
    if (part?.type !== 'text') return false
    const { text, ignored, synthetic } = part as MemoryTranscriptTextPart
    if (ignored === true || synthetic === true || typeof text !== 'string') return false
    return hasWords(text, MINIMUM_USER_WORDS)
  })
}

function messagesAfter(
  transcript: MemoryTranscript,
  cursor: string | undefined,
): { messages: MemoryTranscriptMessage[]; isCursorLost: boolean } {
  const all = (isSnapshot(transcript) ? transcript.durableMessages : transcript).filter(isReadable)
  if ((cursor ?? '') === '') return { messages: all, isCursorLost: false }
  const index = all.findLastIndex(({ info }) => info.id === cursor)
  return { messages: all.slice(index + 1), isCursorLost: index === -1 }
}

function isSnapshot(transcript: MemoryTranscript): transcript is MemoryExtractionSnapshot {
  return !Array.isArray(transcript)
}

/** Messages come from other programs' logs: a broken one is no message. */
function isReadable(message: Partial<MemoryTranscriptMessage> | null): boolean {
  return typeof message?.info === 'object' && message.info !== null && Array.isArray(message.parts)
}
