/**
 * Runs extractions one at a time.
 *
 * Role: decides when `execute` runs and how far the cursor has come. Neither reads a
 * session nor knows what an extraction does. While one runs, only the newest snapshot
 * waits: it covers everything after the old cursor, so a replaced one loses nothing.
 * The cursor moves only after a skip or a successful run, so nothing is lost by a
 * failure either; a failed run is tried again with the next snapshot, never by itself.
 */
import { evaluateMemoryExtraction } from './decision.ts'
import type { MemoryExtractionSnapshot } from './types.ts'

/** How long `shutdown` waits for a run to end, in ms. */
const DEFAULT_SHUTDOWN_TIMEOUT_MS = 60_000

/** Longest delay of a Node timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** How a run ended. The cursor moves for the first two. */
export type MemoryExtractionResult = 'success' | 'no-op' | 'error' | 'aborted'

/**
 * One extraction.
 *
 * Contract: ends soon after `abortSignal` is aborted. May throw or reject, which counts
 * as `'error'`. `messageCount` = messages of the snapshot after the cursor.
 */
export type MemoryExtractionExecutor<Snapshot extends MemoryExtractionSnapshot> = (run: {
  abortSignal: AbortSignal
  messageCount: number
  snapshot: Snapshot
}) => Promise<MemoryExtractionResult> | MemoryExtractionResult

/** Everything is optional. */
export interface MemoryExtractionSchedulerOptions {
  /** Longest wait of `shutdown` in ms, default 60,000; 0 does not wait. */
  shutdownTimeoutMs?: number
  /** Default: the global timer, cleared when it is no longer needed. */
  setTimeout?: (callback: () => void, delayMs: number) => unknown
  /** Cursor of an earlier process, kept by the caller. */
  initialCursor?: string | undefined
}

/** Nothing here throws or rejects, and every method works without its object. */
export interface MemoryExtractionScheduler<Snapshot extends MemoryExtractionSnapshot> {
  /**
   * Starts or queues an extraction and returns at once. A snapshot that rejects counts
   * as a failed run. Ignored after `shutdown`.
   */
  schedule: (snapshot: Snapshot | PromiseLike<Snapshot>) => void
  /** Resolves when nothing runs or waits, or when `shutdown` has given up waiting. */
  drain: () => Promise<void>
  /** Id of the last message dealt with. */
  getCursor: () => string | undefined
  /** Whether something runs or waits, a run that `shutdown` has given up on excepted. */
  hasPendingWork: () => boolean
  /**
   * Aborts the run, drops what waits, refuses what comes later; the cursor moves no
   * more. Resolves when the run has ended or the time is over; every call alike.
   */
  shutdown: () => Promise<void>
}

/**
 * @param execute - see {@link MemoryExtractionExecutor}.
 * @param options - see {@link MemoryExtractionSchedulerOptions}.
 * @returns a scheduler with its own cursor; holds no timer before `shutdown`.
 * @throws TypeError when `execute` is no function or the time is no number of at least 0.
 */
export function createMemoryExtractionScheduler<
  Snapshot extends MemoryExtractionSnapshot = MemoryExtractionSnapshot,
>(
  execute: MemoryExtractionExecutor<Snapshot>,
  options: MemoryExtractionSchedulerOptions = {},
): MemoryExtractionScheduler<Snapshot> {
  const { shutdownTimeoutMs = DEFAULT_SHUTDOWN_TIMEOUT_MS } = options
  if (typeof execute !== 'function') throw new TypeError('execute must be a function.')
  if (typeof shutdownTimeoutMs !== 'number' || !(shutdownTimeoutMs >= 0)) {
    throw new TypeError('shutdownTimeoutMs must be a number of at least 0.')
  }
  const delayMs = Math.min(shutdownTimeoutMs, MAX_TIMER_MS)
  const { setTimeout: startOwnTimer } = options
  const runs = new ExtractionRuns(execute, options.initialCursor)
  return {
    schedule: (snapshot) => runs.schedule(snapshot),
    drain: () => runs.untilIdle(),
    getCursor: () => runs.cursor,
    hasPendingWork: () => runs.isBusy,
    shutdown: () =>
      runs.close((giveUp) => {
        if (startOwnTimer === undefined) return startGlobalTimer(giveUp, delayMs)
        startOwnTimer(giveUp, delayMs)
        return () => undefined
      }),
  }
}

function startGlobalTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}

/** A promised snapshot whose rejection is already handled. */
type Acquisition<Snapshot> = Promise<Snapshot | undefined>

/** The state behind one scheduler: one run, one waiting snapshot, one cursor. */
class ExtractionRuns<Snapshot extends MemoryExtractionSnapshot> {
  readonly #execute: MemoryExtractionExecutor<Snapshot>
  #cursor: string | undefined
  #isRunning = false
  #waiting: Acquisition<Snapshot> | undefined
  /** Of the current run; one each, so that listeners of a finished run are not kept. */
  #abort = new AbortController()
  #isClosed = false
  #closing: Promise<void> | undefined
  #idleWaiters: (() => void)[] = []

  constructor(execute: MemoryExtractionExecutor<Snapshot>, cursor: string | undefined) {
    this.#execute = execute
    this.#cursor = cursor
  }

  get cursor(): string | undefined {
    return this.#cursor
  }

  get isBusy(): boolean {
    return this.#isRunning
  }

  schedule(snapshot: Snapshot | PromiseLike<Snapshot>): void {
    // Handled here, so that a dropped snapshot cannot become an unhandled rejection.
    const acquisition = Promise.resolve(snapshot).catch(() => undefined)
    if (this.#isClosed) return
    if (this.#isRunning) this.#waiting = acquisition
    else void this.#runAll(acquisition)
  }

  untilIdle(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** @param startTimer - starts the wait's timer and returns what clears it. */
  close(startTimer: (giveUp: () => void) => () => void): Promise<void> {
    this.#closing ??= this.#close(startTimer)
    return this.#closing
  }

  async #close(startTimer: (giveUp: () => void) => () => void): Promise<void> {
    // Before the abort: its listeners may call back.
    this.#isClosed = true
    this.#waiting = undefined
    this.#abort.abort()
    if (!this.#isRunning) return
    const clearTimer = startTimer(() => this.#becomeIdle())
    await this.untilIdle()
    clearTimer()
  }

  async #runAll(first: Acquisition<Snapshot>): Promise<void> {
    this.#isRunning = true
    let next: Acquisition<Snapshot> | undefined = first
    while (next !== undefined) {
      await this.#runOne(next)
      next = this.#waiting
      this.#waiting = undefined
    }
    this.#becomeIdle()
  }

  async #runOne(acquisition: Acquisition<Snapshot>): Promise<void> {
    const { signal: abortSignal } = (this.#abort = new AbortController())
    const snapshot = await untilAborted(acquisition, abortSignal)
    if (snapshot === undefined || this.#isClosed) return
    try {
      const { decision, messageCount } = evaluateMemoryExtraction(snapshot, this.#cursor)
      const result =
        decision === 'skip' ? 'no-op' : await this.#execute({ abortSignal, messageCount, snapshot })
      const isDealtWith = result === 'success' || result === 'no-op'
      if (isDealtWith && !this.#isClosed) this.#cursor = snapshot.boundaryMessageId
    } catch {
      // A failed run: the next snapshot covers the same messages again.
    }
  }

  /** Also called when `shutdown` gives up on a run that goes on in the background. */
  #becomeIdle(): void {
    this.#isRunning = false
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resolve of waiters) resolve()
  }
}

/** The snapshot, or `undefined` as soon as the signal is aborted. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(undefined)
    signal.addEventListener('abort', stop, { once: true })
    void work.then(resolve)
  })
}
