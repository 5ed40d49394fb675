/**
 * The part of the door that all tools share.
 *
 * Role: the host passes a tool's arguments unchecked; what is no object or has
 * names that the tool does not know is refused first.
 */
import { MemoryError } from '../errors.ts'

/**
 * @param args - whatever the model sent.
 * @param names - the tool's arguments.
 * @param expected - what is needed, for the message.
 * @returns the arguments, values still unchecked.
 * @throws MemoryError `INVALID_ARGUMENT` naming the unknown argument and the known ones.
 */
export function parseArgumentObject(
  args: unknown,
  names: readonly string[],
  expected: string,
): Record<string, unknown> {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new MemoryError('INVALID_ARGUMENT', `arguments must be an object with ${expected}`)
  }
  const unknown = Object.keys(args).find((name) => !names.includes(name))
  if (unknown === undefined) return args as Record<string, unknown>
  const shown = /^\w{1,40}$/u.test(unknown) ? `"${unknown}"` : 'with an odd name'
  throw new MemoryError(
    'INVALID_ARGUMENT',
    `unknown argument ${shown}; allowed are ${names.join(', ')}`,
  )
}
