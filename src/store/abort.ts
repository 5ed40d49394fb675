/**
 * One shape for "the caller gave up".
 *
 * Role: turns any abort reason into an error named `AbortError`, which the
 * contract promises, keeping the reason as its cause.
 */

/**
 * @param signal - an aborted signal.
 * @returns its reason when that is an `AbortError`, else a new one with the reason as cause.
 */
export function abortError(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  if (reason instanceof Error && reason.name === 'AbortError') return reason
  const error = new Error('the operation was aborted', { cause: reason })
  error.name = 'AbortError'
  return error
}

/**
 * @param signal - may be absent.
 * @throws an error named `AbortError` when the signal is aborted.
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal)
}
