/**
 * The result of `forget_project_memory` and how it is shown.
 *
 * Role: pure; presenters depend on arguments and meta alone.
 */
import type { ToolCallView, ToolResult, ToolResultView } from '@deepseek-ai/dsh-tools'
import { stringProperty } from './presented-value.ts'

/** What the tool returns: lossless JSON, no undefined members. */
export type ForgetToolValue =
  | {
      forgotten: true
      fileName: string
      title: string
      /** Until when it can be undone, ISO 8601 UTC; `null` when nothing was kept. */
      undoUntil: string | null
      note: string
    }
  | { forgotten: false; reason: string }

/** JSON schema of {@link ForgetToolValue}, in the subset that the host enforces. */
export const FORGET_OUTPUT_SCHEMA = {
  oneOf: [
    {
      type: 'object' as const,
      additionalProperties: false,
      required: ['forgotten', 'fileName', 'title', 'undoUntil', 'note'],
      properties: {
        forgotten: { type: 'boolean' as const, const: true },
        fileName: { type: 'string' as const },
        title: { type: 'string' as const },
        undoUntil: { oneOf: [{ type: 'string' as const }, { type: 'null' as const }] },
        note: { type: 'string' as const },
      },
    },
    {
      type: 'object' as const,
      additionalProperties: false,
      required: ['forgotten', 'reason'],
      properties: {
        forgotten: { type: 'boolean' as const, const: false },
        reason: { type: 'string' as const },
      },
    },
  ],
}

/** @returns the pending card. */
export function presentForgetCall(args: unknown): ToolCallView | undefined {
  const name = stringProperty(args, 'key') ?? stringProperty(args, 'fileName')
  return name === undefined
    ? undefined
    : { card: 'generic', kind: 'delete', title: `Forget: ${name}` }
}

/** @returns the finished card. */
export function presentForgetResult(
  _args: unknown,
  result: ToolResult,
): ToolResultView | undefined {
  if (result.isError) return undefined
  const fileName = stringProperty(result.meta, 'fileName')
  const text = stringProperty(result.meta, 'note') ?? stringProperty(result.meta, 'reason')
  if (text === undefined) return undefined
  const title = fileName === undefined ? 'Nothing forgotten' : `Forgot: ${fileName}`
  return { card: 'generic', title, content: [{ type: 'text', text }] }
}
