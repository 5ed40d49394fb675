/**
 * The tool `save_project_memory`.
 *
 * Role: joins the door for arguments, the checks of the caller and the store,
 * and reports what became of the index. Holds no state of its own.
 */
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import type { ResolvedConfig } from '../config.ts'
import { MEMORY_RECALL_TYPES } from '../format/limits.ts'
import { scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { viewIndex } from '../format/index-view.ts'
import {
  SAVE_TOOL_DESCRIPTION,
  SAVE_TOOL_NAME,
  SAVE_TOOL_PARAMETER_DESCRIPTIONS,
} from '../prompt/text.ts'
import type { CommittedSave } from '../store/save-transaction.ts'
import type { CallerFacts } from './refusal.ts'
import { permissionToChange } from './refusal.ts'
import { parseSaveArguments } from './save-arguments.ts'
import type { SaveToolValue } from './save-result.ts'
import { SAVE_OUTPUT_SCHEMA, presentSaveCall, presentSaveResult } from './save-result.ts'
import type { MemoryStores } from './stores.ts'

/** The calling session, as much as the tool needs of it. */
export interface Caller extends CallerFacts {
  sessionId: string | undefined
}

/** What comes in by the door. */
export interface SaveToolOptions {
  config: ResolvedConfig
  stores: MemoryStores
  /** @param agent - the host's calling agent, or `undefined` outside a session. */
  callerOf: (agent: unknown) => Caller
}

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
 * Say how the saved entry stands in the index. The entry that was just written
 * is the newest, so no file has to be looked at for that.
 */
function describeSave(saved: CommittedSave, config: ResolvedConfig): SaveToolValue {
  const { indexLineLimit, indexCharacterLimit, overflow } = config
  const { fileName, filePath, bytes, replaced, indexText } = saved
  const indexEntries = scanIndexEntries(indexText, utf8BytesCodec).length
  const view = viewIndex(utf8BytesCodec.decode(indexText), {
    lineLimit: indexLineLimit,
    characterLimit: indexCharacterLimit,
    overflow,
    mtimeMsOf: (name) => (name === fileName ? Number.MAX_SAFE_INTEGER : 0),
  })
  const shownInIndex = view.shownFileNames.has(fileName)
  const value = { fileName, filePath, bytes, replaced, shownInIndex, indexEntries, indexLineLimit }
  if (!view.isTruncated) return { saved: true, ...value }
  const shown = overflow === 'recent' ? 'the most recently written entries' : 'its first lines'
  const own = shownInIndex ? '' : ' This entry is not among them.'
  const note = `The index no longer fits its limits (${indexLineLimit} lines, ${indexCharacterLimit} characters): sessions see ${shown}.${own} Merge or remove old memories.`
  return { saved: true, ...value, note }
}

/**
 * Make the tool's definition.
 * @param options - configuration, stores and how to look at the caller.
 */
export function createSaveTool({ config, stores, callerOf }: SaveToolOptions): ToolDefinition {
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
      const caller = callerOf(exec.agent)
      const request = parseSaveArguments(args, config.maxMemoryChars, {
        originSessionId: caller.sessionId,
        signal: exec.signal,
      })
      const { project, reason } = permissionToChange(caller, config.subagents === 'all', 'saved')
      if (project === undefined) return { saved: false, reason }
      return describeSave(await stores.of(project).commit(request), config)
    },
  }
}
