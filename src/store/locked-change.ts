/**
 * Running a change under the lock, again when the lock was lost.
 *
 * Role: the loop that every change shares: take the lock, try, give it back; a
 * try that finds its lock lost or its index replaced asks for another one. Does
 * not know what is changed.
 */
import { MemoryError } from '../errors.ts'
import { throwIfAborted } from './abort.ts'
import { settleAsides } from './aside.ts'
import type { StoreContext } from './context.ts'
import { sweepLitter } from './litter.ts'
import type { Lock } from './lock.ts'
import { acquireLock } from './lock.ts'
import { reconcileIndex } from './reconcile.ts'
import { changedError } from './stable-read.ts'
import { unconfirmedError } from './unconfirmed.ts'

/** Tries of a change or a group of saves whose lock or index changed under it. */
export const CHANGE_ATTEMPTS = 5

/** What a try came to: a value, or the wish for another one. */
export type Attempt<T> = { isDone: true; value: T } | { isDone: false }

/** The try that wants another one. */
export const RETRY: Attempt<never> = { isDone: false }

/**
 * One try under a held lock.
 * @param unsettled - files of which a version stands aside still, see `assertSettled`.
 */
export type LockedAttempt<T> = (
  lock: Lock,
  unsettled: ReadonlyMap<string, unknown>,
) => Promise<Attempt<T>>

/** Options of {@link runLocked}. */
export interface LockedRunOptions {
  /** Ends waiting for the lock with an `AbortError`. */
  signal?: AbortSignal | undefined
  /**
   * Takes back what the tries have left; gives the error to report. Must not reject.
   * @param lock - held when the error was thrown, and not yet given back; `undefined` without one.
   */
  onFailure?: (error: unknown, lock: Lock | undefined) => unknown
}

/**
 * Run a change under the lock. A try that ends with its lock lost may have
 * overwritten a newer index in its last step: the index is then looked over once
 * more in the end, see `reconcileIndex`.
 * @param attempt - one try under a held lock; throws to give up.
 * @throws MemoryError `LOCK_LOST` when the tries lost their locks, `FILE_CHANGED` when another program
 *   kept writing the index, `LOCK_TIMEOUT`, or what `attempt` throws; one that says that the memory was
 *   changed when looking over failed.
 */
export async function runLocked<T>(
  context: StoreContext,
  attempt: LockedAttempt<T>,
  options: LockedRunOptions = {},
): Promise<T> {
  const run = new LockedRun(context)
  let value: T
  try {
    value = await run.result(attempt, options)
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

  /** @throws what `onFailure` makes of an error. */
  async result<T>(
    attempt: LockedAttempt<T>,
    { onFailure = (error) => error, signal }: LockedRunOptions,
  ): Promise<T> {
    const { fileSystem, lockPath, lockTimes: times } = this.#context
    for (let left = CHANGE_ATTEMPTS; left > 0; ) {
      const startedMs = Date.now()
      let lock: Lock
      try {
        lock = await acquireLock(lockPath, { fileSystem, signal, times })
      } catch (error) {
        throw await onFailure(error, undefined)
      }
      try {
        await sweepLitter(this.#context, lock)
        const tried = await this.#underLock(attempt, lock, left, signal)
        if (tried.isDone) return tried.value
        left = tried.left
      } catch (error) {
        // Still under the lock, so that nobody comes in between.
        throw await onFailure(error, lock)
      } finally {
        if (!(await lock.release())) this.#doubtfulSinceMs ??= startedMs
      }
    }
    throw await onFailure(takenOverError(lockPath), undefined)
  }

  /** An index that another program has changed is read again under the same lock. */
  async #underLock<T>(
    attempt: LockedAttempt<T>,
    lock: Lock,
    tries: number,
    signal: AbortSignal | undefined,
  ): Promise<{ isDone: true; value: T } | { isDone: false; left: number }> {
    for (let left = tries; left > 0; ) {
      throwIfAborted(signal)
      const outcome = await attempt(lock, await settleAsides(this.#context))
      if (outcome.isDone) return outcome
      left -= 1
      if (!(await lock.isHeld())) return { isDone: false, left }
    }
    throw changedError(this.#context.paths.indexFilePath)
  }

  /** Does nothing as long as every lock was held to its end. */
  async lookOver(): Promise<void> {
    if (this.#doubtfulSinceMs === undefined) return
    await reconcileIndex(this.#context, [], this.#doubtfulSinceMs)
  }
}

/** The error of a change that lost its lock at every try. */
export function takenOverError(lockPath: string): MemoryError {
  return new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over ${CHANGE_ATTEMPTS} times; try again`,
    { path: lockPath },
  )
}
