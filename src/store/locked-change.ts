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
 * Run a change under the lock. A try that ends with its lock lost may have
 * overwritten a newer index in its last step: the index is then looked over once
 * more in the end, see `reconcileIndex`.
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
  const run = new LockedRun(context)
  let value: T
  try {
    value = await run.result(attempt, signal)
  } catch (error) {
    await run.lookOver().catch(() => undefined)
    throw error
  }
  try {
    await run.lookOver()
  } catch (error) {
    throw unconfirmedError('changed', context.paths.root, error)
  }
  return value
}

class LockedRun {
  readonly #context: StoreContext
  /** When the first try began that lost its lock, ms since the epoch. */
  #doubtfulSinceMs: number | undefined

  constructor(context: StoreContext) {
    this.#context = context
  }

  async result<T>(
    attempt: (lock: Lock) => Promise<Attempt<T>>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { fileSystem, lockPath, lockTimes: times } = this.#context
    for (let count = 0; count < CHANGE_ATTEMPTS; count += 1) {
      const startedMs = Date.now()
      const lock = await acquireLock(lockPath, { fileSystem, signal, times })
      let outcome: Attempt<T>
      try {
        await sweepLitter(this.#context, lock)
        outcome = await attempt(lock)
      } finally {
        if (!(await lock.release())) this.#doubtfulSinceMs ??= startedMs
      }
      if (outcome.isDone) return outcome.value
    }
    throw new MemoryError(
      'LOCK_LOST',
      `the lock ${lockPath} was taken over ${CHANGE_ATTEMPTS} times; try again`,
      { path: lockPath },
    )
  }

  /** Does nothing as long as every lock was held to its end. */
  async lookOver(): Promise<void> {
    if (this.#doubtfulSinceMs === undefined) return
    await reconcileIndex(this.#context, [], this.#doubtfulSinceMs)
  }
}
