/**
 * Reading odd values in presenters.
 *
 * Role: presenters get arguments and meta as they were logged and must not
 * throw on any of them.
 */

/** @returns the string under a name, `undefined` when there is none. */
export function stringProperty(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const property: unknown = (value as Record<string, unknown>)[name]
  return typeof property === 'string' ? property : undefined
}
