/**
 * The memory agent: a bounded loop around a model, and the policy that decides
 * which of its tool calls may run.
 *
 * Role: the public names of this subsystem. It imports neither the host nor the
 * store nor another subsystem; who wants to run it brings the model and the
 * tools. Nothing starts by importing it.
 */
export { isContainedInDshHome, readMemoryFileSync, sanitizeProjectSlug } from './files.ts'
export type { MemoryFileRead } from './files.ts'
export { runMemoryAgentLoop } from './loop.ts'
export type {
  MemoryAgentAllowedCall,
  MemoryAgentExecutor,
  MemoryAgentLoopInput,
  MemoryAgentLoopResult,
  MemoryAgentMessage,
  MemoryAgentModel,
  MemoryAgentModelRequest,
  MemoryAgentModelResponse,
  MemoryAgentToolCall,
  MemoryAgentToolOutcome,
} from './loop.ts'
export { isPlainMemoryDirectory, resolveContainedMemoryFilePath } from './paths.ts'
export type { MemoryDirectories, MemoryPathInput } from './paths.ts'
export {
  denyMemoryAgentBash,
  denyMemoryAgentTool,
  denyUnavailableTool,
  evaluateMemoryAgentToolPolicy,
  isContainedMarkdownBashRemoval,
  isContainedMarkdownMutation,
  MEMORY_AGENT_READ_ONLY_TOOLS,
  MEMORY_AGENT_SHELL_TOOLS,
  MEMORY_AGENT_WRITE_TOOLS,
} from './policy.ts'
export type {
  MemoryAgentDecision,
  MemoryAgentPolicyInput,
  MemoryAgentRefusal,
  MemoryAgentTool,
  MemoryRemovalInput,
} from './policy.ts'
export { READ_ONLY_BASH_COMMANDS } from './shell-commands.ts'
