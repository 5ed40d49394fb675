/**
 * Results in the host's own shapes.
 *
 * Role: pure. The host checks a successful value against the tool's schema and
 * renders it itself; an error keeps its name and code, on which policies and
 * screens rely, and the hint that the host's tools give.
 */
import type { JsonValue, ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { errnoOf } from '../errors.ts'

/** What to do about errors that the model can mend, as the host's file tools say it. */
const REMEDIES: Readonly<Record<string, string>> = {
  FS_STALE_VERSION: 're-read the file, then retry',
  FS_NOT_OBSERVED: 'read the file, then retry',
}

/** @returns the host renders content and card from the value. */
export function success(value: JsonValue): ToolExecutionResult {
  return { isError: false, value, content: [] }
}

/** @param info - error class and code, where there is one. */
export function failure(
  message: string,
  info?: { name: string; code: string },
): ToolExecutionResult {
  return {
    isError: true,
    error: info === undefined ? { message } : { message, info },
    content: [{ type: 'text', text: `Error: ${message}` }],
  }
}

/** @returns an error as the host's file tools would report it. */
export function failureOf(error: unknown): ToolExecutionResult {
  const message = error instanceof Error ? error.message : String(error)
  const code = errnoOf(error)
  if (code === undefined || !(error instanceof Error)) return failure(message)
  const remedy = REMEDIES[code]
  return failure(remedy === undefined ? message : `${message} — ${remedy}`, {
    name: error.name,
    code,
  })
}
