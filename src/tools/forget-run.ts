/**
 * What a call of `forget_project_memory` does.
 *
 * Role: checks the arguments and the caller, forgets, and tells until when that
 * can be undone. Holds no state.
 */
import { MemoryError } from '../errors.ts'
import type { ForgottenMemory } from '../store/forget.ts'
import { assertSafeMemoryFileName } from '../store/paths.ts'
import type { ForgetToolValue } from './forget-result.ts'
import type { MemoryToolOptions } from './memory-tool.ts'
import { permissionToChange } from './refusal.ts'
import { parseArgumentObject } from './tool-arguments.ts'

/** Arguments of the tool. */
const FORGET_ARGUMENT_NAMES = ['key', 'fileName', 'purge'] as const

interface ForgetArguments {
  key: string | undefined
  fileName: string | undefined
  purge: boolean
}

function optionalText(value: unknown, field: string): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new MemoryError('INVALID_ARGUMENT', `${field} must be a string that is not blank`)
}

/** @throws MemoryError `INVALID_ARGUMENT` or `UNSAFE_PATH` naming the argument. */
function parseForgetArguments(args: unknown): ForgetArguments {
  const known = parseArgumentObject(args, FORGET_ARGUMENT_NAMES, 'key or fileName')
  const key = optionalText(known['key'], 'key')
  const fileName = optionalText(known['fileName'], 'fileName')
  const purge = known['purge'] ?? false
  if (typeof purge !== 'boolean') {
    throw new MemoryError('INVALID_ARGUMENT', 'purge must be true or false')
  }
  if ((key === undefined) === (fileName === undefined)) {
    throw new MemoryError('INVALID_ARGUMENT', 'give either key or fileName, one of the two')
  }
  if (fileName !== undefined) assertSafeMemoryFileName(fileName)
  return { key, fileName, purge }
}

function describeForget({ fileName, title, undoUntilMs }: ForgottenMemory): ForgetToolValue {
  const undoUntil = undoUntilMs === undefined ? null : new Date(undoUntilMs).toISOString()
  const note =
    undoUntil === null
      ? 'Nothing was kept; this cannot be undone.'
      : `A copy is kept until ${undoUntil.slice(0, 10)}: the user can undo this with "/memory undo" or, in a shell, "dsh-zcode-project-memory undo". To keep no copy, call again with purge: true.`
  return { forgotten: true, fileName, title, undoUntil, note }
}

/**
 * Forget what the model asked for.
 * @param args - the model's arguments, unchecked.
 * @param exec - the calling agent and the signal that gives up.
 * @returns the result; `forgotten: false` with the reason for a sub-agent or a session without project.
 * @throws MemoryError with one line; for an unknown memory it lists the closest file names.
 */
export async function runForget(
  args: unknown,
  exec: { agent?: unknown; signal: AbortSignal },
  { callerOf, config, keepIndexObserved, stores }: MemoryToolOptions,
): Promise<ForgetToolValue> {
  const caller = callerOf(exec.agent)
  const request = parseForgetArguments(args)
  const allowsSubAgents = config.subagents === 'all'
  const { project, reason } = permissionToChange(caller, allowsSubAgents, 'forgotten')
  if (project === undefined) return { forgotten: false, reason }
  const { sessionId } = caller
  const forget = async (): Promise<ForgottenMemory> =>
    (await stores()).of(project).forget({ ...request, sessionId, signal: exec.signal })
  return describeForget(
    keepIndexObserved ? await keepIndexObserved(exec.agent, project, forget) : await forget(),
  )
}
