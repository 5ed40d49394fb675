/**
 * The lock that keeps two processes from changing one memory at once.
 *
 * Role: a folder made with `mkdir`, kept fresh by a heartbeat. It is a lease:
 * a holder that sleeps longer than the stale time loses it, so the holder asks
 * `isHeld()` just before it publishes. Who holds it is told by the exact
 * modification time that the holder last wrote, never by the inode (reused) or
 * a process id (another machine). The protocol is that of `proper-lockfile`;
 * its library is not used, because each step needs another form here (taking
 * over by rename, clocks in the future, content in the folder, no process-wide
 * listeners), which is more code around it than the lock itself.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryError, errnoOf } from '../errors.ts'
import { abortError, throwIfAborted } from './abort.ts'
import type { FileSystem } from './file-system.ts'

/** Times of a lock, in ms. */
export interface LockTimes {
  /** How often the holder renews it. */
  heartbeatMs: number
  /** Unrenewed for so long, it is an orphan. */
  staleMs: number
  /** How long to wait for it. */
  waitMs: number
}

/** 2.5 s, 10 s, 20 s: four missed heartbeats make an orphan, and a waiter outlives one orphan. */
export const DEFAULT_LOCK_TIMES: LockTimes = { heartbeatMs: 2_500, staleMs: 10_000, waitMs: 20_000 }

/** Bounds of the random pause between two tries, in ms: spread out so that waiters do not march in step. */
const RETRY_DELAY_MS = { min: 3, max: 25 }

/** Tries to remove the folder at release; a virus scanner may hold it for a moment. */
const RELEASE_ATTEMPTS = 5

/** Options of {@link acquireLock}. */
export interface LockOptions {
  fileSystem: FileSystem
  signal?: AbortSignal | undefined
  times?: LockTimes
  /** Wall clock, ms since the epoch: compared with modification times. */
  now?: () => number
}

/** A held lock. */
export interface Lock {
  /** Whether an orphan was moved away for it: its holder may have left temp files. */
  readonly replacedOrphan: boolean
  /** Whether it is still ours, asked from the disk. Never throws: a doubt is a no. */
  isHeld: () => Promise<boolean>
  /** Give it back; one that is no longer ours is left alone. Never throws. */
  release: () => Promise<void>
}

/** What stands at the lock's path. */
interface Sight {
  mtimeNs: bigint
}

async function look(path: string, fileSystem: FileSystem): Promise<Sight | undefined> {
  try {
    const { mtimeNs } = await fileSystem.lstat(path, { bigint: true })
    return { mtimeNs }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Judges orphans: by age, or, for times in the future, by standing still while we watch. */
class OrphanJudge {
  readonly #staleMs: number
  readonly #now: () => number
  #watched: { mtimeNs: bigint; sinceMs: number } | undefined

  constructor(staleMs: number, now: () => number) {
    this.#staleMs = staleMs
    this.#now = now
  }

  isOrphan(sight: Sight): boolean {
    const ageMs = this.#now() - Number(sight.mtimeNs / 1_000_000n)
    if (ageMs >= 0) return ageMs > this.#staleMs
    const elapsedMs = performance.now()
    if (this.#watched?.mtimeNs !== sight.mtimeNs) {
      this.#watched = { mtimeNs: sight.mtimeNs, sinceMs: elapsedMs }
    }
    return elapsedMs - this.#watched.sinceMs > this.#staleMs
  }
}

/**
 * Move an orphan out of the way. Two contenders may judge the same orphan; the
 * later one then moves the fresh lock of the earlier one, sees that by its time
 * and puts it back, unless a third has taken the free place: then the owner of
 * the moved one finds its lock lost and starts over.
 */
async function removeOrphan(
  path: string,
  judge: OrphanJudge,
  fileSystem: FileSystem,
): Promise<void> {
  const moved = `${path}.orphan-${randomBytes(8).toString('hex')}`
  const before = await look(path, fileSystem)
  if (before === undefined || !judge.isOrphan(before)) return
  try {
    await fileSystem.rename(path, moved)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return
    throw error
  }
  const sight = await look(moved, fileSystem)
  if (sight !== undefined && sight.mtimeNs !== before.mtimeNs && !judge.isOrphan(sight)) {
    if ((await look(path, fileSystem)) === undefined) {
      await fileSystem.rename(moved, path)
      return
    }
  }
  await fileSystem.rm(moved, { recursive: true, force: true })
}

class HeldLock implements Lock {
  readonly replacedOrphan: boolean
  readonly #path: string
  readonly #fileSystem: FileSystem
  readonly #heartbeat: NodeJS.Timeout
  readonly #now: () => number
  #mtimeNs: bigint
  #isLost = false
  /** Renewals and checks take turns, else a check could see a time that is being written. */
  #turn: Promise<unknown> = Promise.resolve()
  #isRenewalQueued = false

  constructor(
    path: string,
    mtimeNs: bigint,
    replacedOrphan: boolean,
    options: Required<Omit<LockOptions, 'signal'>>,
  ) {
    this.#path = path
    this.replacedOrphan = replacedOrphan
    this.#mtimeNs = mtimeNs
    this.#fileSystem = options.fileSystem
    this.#now = options.now
    this.#heartbeat = setInterval(() => {
      if (this.#isRenewalQueued) return
      this.#isRenewalQueued = true
      void this.#inTurn(() => this.#renew())
    }, options.times.heartbeatMs)
    this.#heartbeat.unref()
  }

  /** @param step - never rejects. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step)
    this.#turn = result
    return result
  }

  /** A failing renewal is not yet a loss: the next check asks the disk. */
  async #renew(): Promise<void> {
    this.#isRenewalQueued = false
    try {
      const sight = await look(this.#path, this.#fileSystem)
      if (sight?.mtimeNs !== this.#mtimeNs) {
        this.#isLost = true
        return
      }
      const seconds = this.#now() / 1000
      await this.#fileSystem.utimes(this.#path, seconds, seconds)
      const renewed = await look(this.#path, this.#fileSystem)
      if (renewed === undefined) this.#isLost = true
      else this.#mtimeNs = renewed.mtimeNs
    } catch {
      // Unreadable for a moment: the lock ages until the next heartbeat.
    }
  }

  isHeld(): Promise<boolean> {
    return this.#inTurn(() => this.#check())
  }

  async #check(): Promise<boolean> {
    if (this.#isLost) return false
    try {
      const sight = await look(this.#path, this.#fileSystem)
      this.#isLost = sight?.mtimeNs !== this.#mtimeNs
      return !this.#isLost
    } catch {
      return false
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#heartbeat)
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt += 1) {
      if (!(await this.isHeld())) return
      try {
        await this.#fileSystem.rmdir(this.#path)
        return
      } catch (error) {
        if (errnoOf(error) === 'ENOTEMPTY' || errnoOf(error) === 'EEXIST') {
          await this.#fileSystem
            .rm(this.#path, { recursive: true, force: true })
            .catch(() => undefined)
          return
        }
        await delay(RETRY_DELAY_MS.max)
      }
    }
  }
}

/** @returns the modification time of the new folder, or `undefined` when something stands there. */
async function makeLockFolder(path: string, fileSystem: FileSystem): Promise<bigint | undefined> {
  try {
    await fileSystem.mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  }
  return (await look(path, fileSystem))?.mtimeNs
}

function lockError(path: string, error: unknown): unknown {
  const errno = errnoOf(error)
  if (error instanceof MemoryError || errno === undefined || errno === 'ABORT_ERR') return error
  return new MemoryError(
    'WRITE_FAILED',
    `the lock ${path} cannot be made or moved (${errno}); check permissions, or remove it by hand`,
    { path, errno, cause: error },
  )
}

/**
 * Wait for the lock and take it.
 * @param path - the lock folder; its parent must exist.
 * @returns the held lock.
 * @throws MemoryError `LOCK_TIMEOUT` naming the path, `WRITE_FAILED` when it can neither be made nor
 *   moved; an `AbortError` when aborted. In each case no lock of ours is left.
 */
export async function acquireLock(path: string, options: LockOptions): Promise<Lock> {
  const { fileSystem, signal, times = DEFAULT_LOCK_TIMES, now = Date.now } = options
  const judge = new OrphanJudge(times.staleMs, now)
  const deadlineMs = performance.now() + times.waitMs
  let hasMovedOrphan = false
  try {
    for (;;) {
      throwIfAborted(signal)
      const mtimeNs = await makeLockFolder(path, fileSystem)
      if (mtimeNs !== undefined) {
        return new HeldLock(path, mtimeNs, hasMovedOrphan, { fileSystem, times, now })
      }
      const sight = await look(path, fileSystem)
      if (sight === undefined) continue
      if (judge.isOrphan(sight)) {
        await removeOrphan(path, judge, fileSystem)
        hasMovedOrphan = true
        continue
      }
      if (performance.now() > deadlineMs) throw timeoutError(path, times)
      await delay(randomInt(RETRY_DELAY_MS.min, RETRY_DELAY_MS.max), undefined, { signal })
    }
  } catch (error) {
    if (signal?.aborted === true) throw abortError(signal)
    throw lockError(path, error)
  }
}

function timeoutError(path: string, times: LockTimes): MemoryError {
  const seconds = times.waitMs / 1000
  return new MemoryError(
    'LOCK_TIMEOUT',
    `another process has held the lock ${path} for ${seconds} s; try again, or remove it if no session is saving`,
    { path },
  )
}
