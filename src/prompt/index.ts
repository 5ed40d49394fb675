/**
 * `dsh-zcode-project-memory/prompt`: what the model reads about project memory.
 *
 * Role: the public names of the prompt texts, and those that plugin and tools use.
 */

export { escapePromptText, PROMPT_BRACES_VALUE, PROMPT_BRACES_VARIABLE } from './escape.ts'
export {
  renderIndexContext,
  renderMemoryContext,
  renderMemoryGuidance,
  renderUnreadableIndex,
} from './render.ts'
export type { GuidanceOptions } from './render.ts'
export {
  FORGET_TOOL_NAME,
  SAVE_TOOL_DESCRIPTION,
  SAVE_TOOL_NAME,
  SAVE_TOOL_PARAMETER_DESCRIPTIONS,
} from './text.ts'
