/**
 * Running a change under the lock, again when the lock was lost.
 *
 * Role: the loop that every change shares: take the lock, try, give it back; a
 * try that finds its lock lost or its index replaced asks for another one. Does
 * not know what is changed.
 */
import { MemoryError } from '../errors.ts'
import type { StoreContext } from './context.ts'
import type { Lock } from './lock.ts'
import { acquireLock } from './lock.ts'

/** Tries of a change; each waits for the lock anew. */
export const CHANGE_ATTEMPTS = 5

/** What a try came to: a value, or the wish for another one. */
export type Attempt<T> = { isDone: true; value: T } | { isDone: false }

/** The try that wants another one. */
export const RETRY: Attempt<never> = { isDone: false }

/** A finished change. */
export interface LockedChange<T> {
  value: T
  /** Whether the lock was still held when the change was over. */
  wasHeld: boolean
  /** When the lock was taken, ms since the epoch. */
  startedMs: number
}

/**
 * Run a change under the lock.
 * @param attempt - one try under a held lock; throws to give up.
 * @param signal - ends waiting for the lock with an `AbortError`.
 * @throws MemoryError `LOCK_LOST` when every try lost its lock, `LOCK_TIMEOUT`, or what `attempt` throws.
 */
export async function runLocked<T>(
  context: StoreContext,
  attempt: (lock: Lock) => Promise<Attempt<T>>,
  signal?: AbortSignal,
): Promise<LockedChange<T>> {
  const { fileSystem, lockPath, lockTimes: times } = context
  for (let count = 0; count < CHANGE_ATTEMPTS; count += 1) {
    const startedMs = Date.now()
    const lock = await acquireLock(lockPath, { fileSystem, signal, times })
    let outcome: Attempt<T>
    let wasHeld: boolean
    try {
      outcome = await attempt(lock)
    } finally {
      wasHeld = await lock.release()
    }
    if (outcome.isDone) return { value: outcome.value, wasHeld, startedMs }
  }
  throw new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over ${CHANGE_ATTEMPTS} times; try again`,
    { path: lockPath },
  )
}
