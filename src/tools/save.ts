/**
 * The tool `save_project_memory` as the host sees it.
 *
 * Role: definition and presenters, light enough for the start-up path; what a
 * call does is loaded at the first one.
 */
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { MEMORY_RECALL_TYPES } from '../format/limits.ts'
import {
  SAVE_TOOL_DESCRIPTION,
  SAVE_TOOL_NAME,
  SAVE_TOOL_PARAMETER_DESCRIPTIONS,
} from '../prompt/text.ts'
import type { MemoryToolOptions } from './memory-tool.ts'
import type { SaveToolValue } from './save-result.ts'
import { SAVE_OUTPUT_SCHEMA, presentSaveCall, presentSaveResult } from './save-result.ts'

const PARAMETERS = {
  type: 'object' as const,
  additionalProperties: false,
  required: ['key', 'content'],
  properties: {
    key: { type: 'string' as const, description: SAVE_TOOL_PARAMETER_DESCRIPTIONS.key },
    content: { type: 'string' as const, description: SAVE_TOOL_PARAMETER_DESCRIPTIONS.content },
    type: {
      type: 'string' as const,
      enum: [...MEMORY_RECALL_TYPES],
      description: SAVE_TOOL_PARAMETER_DESCRIPTIONS.type,
    },
    description: {
      type: 'string' as const,
      description: SAVE_TOOL_PARAMETER_DESCRIPTIONS.description,
    },
  },
}

/**
 * Make the tool's definition.
 * @param options - configuration, stores and how to look at the caller.
 */
export function createSaveTool(options: MemoryToolOptions): ToolDefinition {
  return {
    name: SAVE_TOOL_NAME,
    description: SAVE_TOOL_DESCRIPTION,
    parameters: PARAMETERS,
    output: {
      schema: SAVE_OUTPUT_SCHEMA,
      render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }],
      presentationMeta: (_args, value) => value,
    },
    presentCall: presentSaveCall,
    presentResult: presentSaveResult,
    async execute(args, exec): Promise<SaveToolValue> {
      const { runSave } = await import('./save-run.ts')
      return runSave(args, exec, options)
    },
  }
}
