/**
 * Subsystem `extraction`: when and with which words memories are drawn from a session.
 *
 * Role: public face. Imports neither the other subsystems nor the store nor the host;
 * importing it touches nothing. What an extraction does comes in as `execute`, the list
 * of existing memories as `formatManifest`.
 */
export {
  containsDirectMemoryWrite,
  containsEligibleUserProse,
  countMessagesAfterCursor,
  evaluateMemoryExtraction,
} from './decision.ts'
export { buildMemoryExtractionPrompt, type MemoryExtractionPromptInput } from './prompt.ts'
export {
  createMemoryExtractionScheduler,
  type MemoryExtractionExecutor,
  type MemoryExtractionResult,
  type MemoryExtractionScheduler,
  type MemoryExtractionSchedulerOptions,
} from './scheduler.ts'
export {
  MINIMUM_USER_WORDS,
  type MemoryExtractionDecision,
  type MemoryExtractionSnapshot,
  type MemoryTranscript,
  type MemoryTranscriptMessage,
  type MemoryTranscriptOtherPart,
  type MemoryTranscriptPart,
  type MemoryTranscriptTextPart,
  type MemoryTranscriptToolPart,
} from './types.ts'
