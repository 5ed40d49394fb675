/**
 * The error of a change that is visible, but not known to be durable or complete.
 *
 * Role: one wording for every change that can no longer go back, so that nobody
 * takes it for one that did not happen. Does not change anything.
 */
import { MemoryError } from '../errors.ts'

/**
 * @param what - what was done with the memory, a participle: `written`, `forgotten`.
 * @param path - what the change was about, when the cause names nothing.
 * @param cause - why it could not be confirmed.
 * @returns an error with the cause's code and errno.
 */
export function unconfirmedError(what: string, path: string, cause: unknown): MemoryError {
  const coded = cause instanceof MemoryError ? cause : undefined
  const reason = coded?.message ?? 'unexpected error'
  return new MemoryError(
    coded?.code ?? 'WRITE_FAILED',
    `the memory was ${what}, but that could not be confirmed: ${reason}`,
    { path, cause, ...(coded?.errno === undefined ? {} : { errno: coded.errno }) },
  )
}
