/**
 * The tool `forget_project_memory` as the host sees it.
 *
 * Role: definition and presenters, light enough for the start-up path; what a
 * call does is loaded at the first one.
 */
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import {
  FORGET_TOOL_DESCRIPTION,
  FORGET_TOOL_NAME,
  FORGET_TOOL_PARAMETER_DESCRIPTIONS,
} from '../prompt/text.ts'
import type { ForgetToolValue } from './forget-result.ts'
import { FORGET_OUTPUT_SCHEMA, presentForgetCall, presentForgetResult } from './forget-result.ts'
import type { MemoryToolOptions } from './memory-tool.ts'

const PARAMETERS = {
  type: 'object' as const,
  additionalProperties: false,
  properties: {
    key: { type: 'string' as const, description: FORGET_TOOL_PARAMETER_DESCRIPTIONS.key },
    fileName: { type: 'string' as const, description: FORGET_TOOL_PARAMETER_DESCRIPTIONS.fileName },
    purge: { type: 'boolean' as const, description: FORGET_TOOL_PARAMETER_DESCRIPTIONS.purge },
  },
}

/**
 * Make the tool's definition.
 * @param options - configuration, stores and how to look at the caller.
 */
export function createForgetTool(options: MemoryToolOptions): ToolDefinition {
  return {
    name: FORGET_TOOL_NAME,
    description: FORGET_TOOL_DESCRIPTION,
    parameters: PARAMETERS,
    output: {
      schema: FORGET_OUTPUT_SCHEMA,
      render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }],
      presentationMeta: (_args, value) => value,
    },
    presentCall: presentForgetCall,
    presentResult: presentForgetResult,
    async execute(args, exec): Promise<ForgetToolValue> {
      const { runForget } = await import('./forget-run.ts')
      return runForget(args, exec, options)
    },
  }
}
