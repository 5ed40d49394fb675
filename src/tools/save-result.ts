/**
 * The result of `save_project_memory` and how it is shown.
 *
 * Role: pure. The value tells the truth about the index too: an entry that the
 * next session will not see must not look like a plain success. The presenters
 * depend on arguments and meta alone, because the host runs them again on
 * replay; odd input gives `undefined`, the host's generic card.
 */
import type { ToolResult, ToolResultView, ToolCallView } from '@deepseek-ai/dsh-tools'
import { stringProperty } from './presented-value.ts'

/** What the tool returns: lossless JSON, no undefined members. */
export type SaveToolValue =
  | {
      saved: true
      fileName: string
      filePath: string
      bytes: number
      replaced: boolean
      /** Whether the entry is within the part of the index that a session is shown. */
      shownInIndex: boolean
      indexEntries: number
      indexLineLimit: number
      /** What to do about an index that is not shown whole. */
      note?: string
    }
  | { saved: false; reason: string }

/** JSON schema of {@link SaveToolValue}, in the subset that the host enforces. */
export const SAVE_OUTPUT_SCHEMA = {
  oneOf: [
    {
      type: 'object' as const,
      additionalProperties: false,
      required: [
        'saved',
        'fileName',
        'filePath',
        'bytes',
        'replaced',
        'shownInIndex',
        'indexEntries',
        'indexLineLimit',
      ],
      properties: {
        saved: { type: 'boolean' as const, const: true },
        fileName: { type: 'string' as const },
        filePath: { type: 'string' as const },
        bytes: { type: 'integer' as const },
        replaced: { type: 'boolean' as const },
        shownInIndex: { type: 'boolean' as const },
        indexEntries: { type: 'integer' as const },
        indexLineLimit: { type: 'integer' as const },
        note: { type: 'string' as const },
      },
    },
    {
      type: 'object' as const,
      additionalProperties: false,
      required: ['saved', 'reason'],
      properties: {
        saved: { type: 'boolean' as const, const: false },
        reason: { type: 'string' as const },
      },
    },
  ],
}

/** @returns the pending card: what is being remembered. */
export function presentSaveCall(args: unknown): ToolCallView | undefined {
  const key = stringProperty(args, 'key')
  return key === undefined
    ? undefined
    : { card: 'generic', kind: 'edit', title: `Remember: ${key}` }
}

/** @returns the finished card: the memory as a new or replaced file. */
export function presentSaveResult(args: unknown, result: ToolResult): ToolResultView | undefined {
  const key = stringProperty(args, 'key')
  const content = stringProperty(args, 'content')
  const fileName = stringProperty(result.meta, 'fileName')
  if (result.isError || key === undefined || content === undefined) return undefined
  if (fileName === undefined) return { card: 'generic', title: `Not remembered: ${key}` }
  const isReplacement = (result.meta as { replaced?: unknown }).replaced === true
  return {
    card: 'diff',
    title: `${isReplacement ? 'Updated memory' : 'Remembered'}: ${key}`,
    diffs: [{ path: fileName, oldText: null, newText: content }],
  }
}
