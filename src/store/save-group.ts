/**
 * Running saves that wait together as one transaction.
 *
 * Role: takes the lock for a {@link SaveTransaction}, tries again when the lock
 * or the index changed under it, and lets callers give up while it waits. Never
 * rejects: every outcome reaches the save it belongs to.
 */
import type { StoreContext } from './context.ts'
import { ensureDirectories } from './directories.ts'
import { sweepLitter } from './litter.ts'
import { acquireLock } from './lock.ts'
import { CHANGE_ATTEMPTS, takenOverError } from './locked-change.ts'
import { reconcileIndex } from './reconcile.ts'
import type { SaveJob } from './save-draft.ts'
import type { SaveAttempt } from './save-transaction.ts'
import { SaveTransaction } from './save-transaction.ts'
import { changedError } from './stable-read.ts'

/** Listens to the signals of a group; they count at once only while it waits. */
class GivingUp {
  readonly #jobs: readonly SaveJob[]
  readonly #transaction: SaveTransaction
  readonly #controller = new AbortController()
  #isWaiting = true

  constructor(jobs: readonly SaveJob[], transaction: SaveTransaction) {
    this.#jobs = jobs
    this.#transaction = transaction
    for (const { request } of jobs) request.signal?.addEventListener('abort', this.#look)
    this.#look()
  }

  /** Aborted when nobody waits for the transaction any more. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  set isWaiting(isWaiting: boolean) {
    this.#isWaiting = isWaiting
    this.#look()
  }

  readonly #look = (): void => {
    if (!this.#isWaiting) return
    this.#transaction.dropAborted()
    if (this.#transaction.isGivenUp) this.#controller.abort()
  }

  dispose(): void {
    for (const { request } of this.#jobs) request.signal?.removeEventListener('abort', this.#look)
  }
}

/**
 * Run a group of saves as one transaction and settle each of them.
 * @returns saves that must run after this group, because an earlier one writes the same file.
 *   Never rejects: failures reach the jobs.
 */
export async function runSaveGroup(
  context: StoreContext,
  jobs: readonly SaveJob[],
): Promise<SaveJob[]> {
  const transaction = new SaveTransaction(context, jobs)
  const givingUp = new GivingUp(jobs, transaction)
  try {
    if (!transaction.isEmpty) await runAttempts(context, transaction, givingUp)
  } catch (error) {
    await transaction.fail(error)
  }
  givingUp.dispose()
  transaction.settle()
  return transaction.deferred
}

async function runAttempts(
  context: StoreContext,
  transaction: SaveTransaction,
  givingUp: GivingUp,
): Promise<void> {
  const { fileSystem, lockPath, lockTimes: times, paths } = context
  await ensureDirectories(paths.root, fileSystem)
  for (let left = CHANGE_ATTEMPTS; left > 0; ) {
    const startedMs = Date.now()
    givingUp.isWaiting = true
    const lock = await acquireLock(lockPath, { fileSystem, signal: givingUp.signal, times })
    givingUp.isWaiting = false
    let outcome: SaveAttempt = 'published'
    let wasHeld = false
    try {
      if (lock.hadToWait) await ensureDirectories(paths.root, fileSystem)
      await sweepLitter(context, lock)
      // An index that another program has changed is read again under the same lock.
      for (let isHeld = true; isHeld; ) {
        outcome = await transaction.attempt(lock)
        if (outcome === 'published') break
        left -= 1
        isHeld = await lock.isHeld()
        if (isHeld && left === 0) throw changedError(paths.indexFilePath)
      }
    } catch (error) {
      outcome = 'published'
      await transaction.fail(error)
    } finally {
      wasHeld = await lock.release()
    }
    if (outcome === 'retry') continue
    if (!wasHeld && !transaction.isEmpty) {
      await reconcileIndex(context, transaction.entries, startedMs)
    }
    return
  }
  throw takenOverError(lockPath)
}
