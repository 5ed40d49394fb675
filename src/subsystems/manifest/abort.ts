/**
 * Ending a scan early.
 *
 * Role: one error shape and a race against the signal. Rejects instead of answering
 * with an empty list: nobody must mistake an interrupted scan for an empty memory.
 */

/** The reason when that is an `AbortError`, else a new error of this name caused by it. */
function abortErrorOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  if (reason instanceof Error && reason.name === 'AbortError') return reason
  const error = new Error('The manifest scan was aborted.', { cause: reason })
  error.name = 'AbortError'
  return error
}

/** @throws an error named `AbortError` when the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortErrorOf(signal)
}

/**
 * Stops waiting as soon as the signal is aborted, even when the work hangs.
 * @param work - already started; goes on in the background until its next own check.
 * @returns the result of the work, or a rejection with an `AbortError`.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(abortErrorOf(signal))
    const settled = (): void => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(settled)
  })
}
