/**
 * The door for the arguments of `save_project_memory`.
 *
 * Role: the host passes a tool's arguments unchecked. Names unknown arguments
 * and wrong shapes before anything else is looked at.
 */
import type { SaveInput, SaveRequest } from '../store/save-request.ts'
import { parseSaveRequest } from '../store/save-request.ts'
import { parseArgumentObject } from './tool-arguments.ts'

/** Arguments of the tool, in the order in which they are declared. */
export const SAVE_ARGUMENT_NAMES = ['key', 'content', 'type', 'description'] as const

/**
 * Parse the model's arguments.
 * @param args - whatever the model sent.
 * @param maxContentChars - limit of `content` in UTF-16 code units.
 * @param context - the session that saves and the signal that gives up.
 * @throws MemoryError `INVALID_ARGUMENT` naming the argument and what to do.
 */
export function parseSaveArguments(
  args: unknown,
  maxContentChars: number,
  context: { originSessionId: string | undefined; signal: AbortSignal },
): SaveRequest {
  const known = parseArgumentObject(args, SAVE_ARGUMENT_NAMES, 'key and content')
  return parseSaveRequest({ ...(known as unknown as SaveInput), ...context }, { maxContentChars })
}
