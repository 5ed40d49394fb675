/**
 * Running a change under the lock, again when the lock was lost.
 *
 * Role: the loop that every change shares: take the lock, try, give it back; a
 * try that finds its lock lost or its index replaced asks for another one. Does
 * not know what is changed.
 */
import { MemoryError } from '../errors.ts'
import type { StoreContext } from './context.ts'
import { sweepLitter } from './litter.ts'
import type { Lock } from './lock.ts'
import { acquireLock } from './lock.ts'
import { reconcileIndex } from './reconcile.ts'
import { unconfirmedError } from './unconfirmed.ts'

/** Tries of a change; each waits for the lock anew. */
export const CHANGE_ATTEMPTS = 5

/** What a try came to: a value, or the wish for another one. */
export type Attempt<T> = { isDone: true; value: T } | { isDone: false }

/** The try that wants another one. */
export const RETRY: Attempt<never> = { isDone: false }

/**
 * Run a change under the lock. A change that ends with its lock lost may have
 * overwritten a newer index in its last step: the index is then looked over once
 * more, see `reconcileIndex`.
 * @param attempt - one try under a held lock; throws to give up.
 * @param signal - ends waiting for the lock with an `AbortError`.
 * @throws MemoryError `LOCK_LOST` when every try lost its lock, `LOCK_TIMEOUT`, or what `attempt`
 *   throws; one that says that the memory was changed when looking over failed.
 */
export async function runLocked<T>(
  context: StoreContext,
  attempt: (lock: Lock) => Promise<Attempt<T>>,
  signal?: AbortSignal,
): Promise<T> {
  const { fileSystem, lockPath, lockTimes: times, paths } = context
  for (let count = 0; count < CHANGE_ATTEMPTS; count += 1) {
    const startedMs = Date.now()
    const lock = await acquireLock(lockPath, { fileSystem, signal, times })
    let outcome: Attempt<T>
    let wasHeld: boolean
    try {
      await sweepLitter(context, lock)
      outcome = await attempt(lock)
    } finally {
      wasHeld = await lock.release()
    }
    if (!outcome.isDone) continue
    if (wasHeld) return outcome.value
    try {
      await reconcileIndex(context, [], startedMs)
    } catch (error) {
      throw unconfirmedError('changed', paths.root, error)
    }
    return outcome.value
  }
  throw new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over ${CHANGE_ATTEMPTS} times; try again`,
    { path: lockPath },
  )
}
