/**
 * What a tool call wants to change, read from its arguments.
 *
 * Role: pure. The host passes arguments as the model sent them; a call of
 * another shape is not ours. Does not look at the disk.
 */
import { parseRemovalCommand } from './removal-command.ts'

/** A change of files, as asked for. */
export type MemoryCall =
  | { kind: 'write'; paths: [string]; content: string }
  | { kind: 'edit'; paths: [string]; oldString: string; newString: string; replaceAll: boolean }
  | { kind: 'remove'; paths: string[]; isForced: boolean }

/** The only mode that is wider than `workspace-write`. */
const WIDER_MODE = 'danger-full-access'

type Arguments = Record<string, unknown>

function argumentsOf(args: unknown): Arguments {
  return typeof args === 'object' && args !== null ? (args as Arguments) : {}
}

/**
 * @param name - the tool's name.
 * @param args - its arguments, unchecked.
 * @returns the change, or `undefined` when the call is no such change.
 */
export function parseMemoryCall(name: string, args: unknown): MemoryCall | undefined {
  const { command, content, file_path: path, run_in_background: isBackground } = argumentsOf(args)
  if (name === 'bash' && typeof command === 'string' && isBackground !== true) {
    const removal = parseRemovalCommand(command)
    return removal === undefined ? undefined : { kind: 'remove', ...removal }
  }
  if (typeof path !== 'string') return undefined
  if (name === 'write' && typeof content === 'string') {
    return { kind: 'write', paths: [path], content }
  }
  return name === 'edit' ? parseEdit(path, argumentsOf(args)) : undefined
}

function parseEdit(path: string, args: Arguments): MemoryCall | undefined {
  const { new_string: newString, old_string: oldString, replace_all: replaceAll = false } = args
  if (typeof oldString !== 'string' || typeof newString !== 'string') return undefined
  if (typeof replaceAll !== 'boolean' || oldString === '' || oldString === newString)
    return undefined
  return { kind: 'edit', paths: [path], oldString, newString, replaceAll }
}

/** @returns whether the call asks, in due form, for the sandbox to be set aside once. */
export function isEscalated(args: unknown): boolean {
  const { justification, sandbox_permissions: mode } = argumentsOf(args)
  return mode === WIDER_MODE && typeof justification === 'string' && justification.trim() !== ''
}
