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
import { randomInt } from 'node:crypto'
import { constants } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryError, errnoOf } from '../errors.ts'
import { abortError, throwIfAborted } from './abort.ts'
import type { FileSystem } from './file-system.ts'
import { OrphanJudge, look, noteAbandonedLock, removeOrphan } from './lock-orphan.ts'

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

/** Open the lock's own folder, never what a link names. */
const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

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
  /** Whether another lock was in the way first: much may have changed since the call. */
  readonly hadToWait: boolean
  /** Whether it is still ours, asked from the disk. Never throws: a doubt is a no. */
  isHeld: () => Promise<boolean>
  /**
   * Give it back; one that is no longer ours is left alone. Never throws.
   * @returns whether it was ours without a break until now; a doubt is a no.
   */
  release: () => Promise<boolean>
}

/**
 * Renew a lock, on the very folder that was checked: on Linux and macOS both go
 * through one open handle, so that a lock that takes its place in between is
 * neither renewed nor taken for ours.
 * @param mtimeNs - the time that identifies the lock.
 * @returns its new time, or `undefined` when another or no lock stands there.
 */
async function renewFolder(
  path: string,
  mtimeNs: bigint,
  nowMs: number,
  fileSystem: FileSystem,
): Promise<bigint | undefined> {
  const seconds = nowMs / 1000
  if (process.platform === 'win32') {
    if ((await look(path, fileSystem))?.mtimeNs !== mtimeNs) return undefined
    await fileSystem.utimes(path, seconds, seconds)
    return (await look(path, fileSystem))?.mtimeNs
  }
  let handle: Awaited<ReturnType<FileSystem['open']>>
  try {
    handle = await fileSystem.open(path, FOLDER_FLAGS)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
  try {
    if ((await handle.stat({ bigint: true })).mtimeNs !== mtimeNs) return undefined
    await handle.utimes(seconds, seconds)
    return (await handle.stat({ bigint: true })).mtimeNs
  } finally {
    await handle.close().catch(() => undefined)
  }
}

class HeldLock implements Lock {
  readonly replacedOrphan: boolean
  readonly hadToWait: boolean
  readonly #path: string
  readonly #fileSystem: FileSystem
  readonly #heartbeat: NodeJS.Timeout
  readonly #now: () => number
  #mtimeNs: bigint
  /** Once seen lost it stays lost, also when it is put back: somebody may have held it meanwhile. */
  #isLost = false
  /** Renewals and checks take turns, else a check could see a time that is being written. */
  #turn: Promise<unknown> = Promise.resolve()
  #isRenewalQueued = false

  constructor(
    path: string,
    mtimeNs: bigint,
    { replacedOrphan, hadToWait }: Pick<Lock, 'replacedOrphan' | 'hadToWait'>,
    options: Required<Omit<LockOptions, 'signal'>>,
  ) {
    this.#path = path
    this.replacedOrphan = replacedOrphan
    this.hadToWait = hadToWait
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
      const mtimeNs = await renewFolder(this.#path, this.#mtimeNs, this.#now(), this.#fileSystem)
      if (mtimeNs === undefined) this.#isLost = true
      else this.#mtimeNs = mtimeNs
    } catch {
      // Unreadable for a moment: the lock ages until the next heartbeat.
    }
  }

  async isHeld(): Promise<boolean> {
    return (await this.#inTurn(() => this.#standing())) === 'ours' && !this.#isLost
  }

  /** Whose lock stands at the path now. */
  async #standing(): Promise<'ours' | 'not ours' | 'unknown'> {
    try {
      const sight = await look(this.#path, this.#fileSystem)
      if (sight?.mtimeNs === this.#mtimeNs) return 'ours'
      this.#isLost = true
      return 'not ours'
    } catch {
      return 'unknown'
    }
  }

  /** @returns whether the folder is gone. */
  async #remove(): Promise<boolean> {
    try {
      await this.#fileSystem.rmdir(this.#path)
      return true
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === 'ENOENT') return true
      if (errno !== 'ENOTEMPTY' && errno !== 'EEXIST') return false
    }
    const removal = this.#fileSystem.rm(this.#path, { recursive: true, force: true })
    return removal.then(
      () => true,
      () => false,
    )
  }

  async release(): Promise<boolean> {
    clearInterval(this.#heartbeat)
    let wasHeld = false
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt += 1) {
      if (attempt > 0) await delay(RETRY_DELAY_MS.max)
      const standing = await this.#inTurn(() => this.#standing())
      if (standing === 'not ours') return wasHeld
      if (standing === 'unknown') continue
      wasHeld = !this.#isLost
      if (await this.#remove()) return wasHeld
    }
    noteAbandonedLock(this.#path, this.#mtimeNs)
    return wasHeld
  }
}

/**
 * @returns the time of the new folder, or `undefined` when something stands there.
 * @throws the system's error; no folder of ours is left.
 */
async function makeLockFolder(
  path: string,
  { fileSystem, times, now }: Required<Omit<LockOptions, 'signal'>>,
): Promise<bigint | undefined> {
  try {
    await fileSystem.mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  }
  try {
    const sight = await look(path, fileSystem)
    if (sight === undefined) return undefined
    const skewMs = Math.abs(now() - Number(sight.mtimeNs / 1_000_000n))
    if (skewMs < times.heartbeatMs) return sight.mtimeNs
    // A file server with another clock dated it: others would take it for an orphan.
    return await renewFolder(path, sight.mtimeNs, now(), fileSystem)
  } catch (error) {
    await fileSystem.rmdir(path).catch(() => undefined)
    throw error
  }
}

function lockError(path: string, error: unknown): unknown {
  const errno = errnoOf(error)
  if (error instanceof MemoryError || errno === undefined || errno === 'ABORT_ERR') return error
  return new MemoryError(
    'WRITE_FAILED',
    `the lock ${path} cannot be made or taken over (${errno}); check the permissions of its folder`,
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
  const judge = new OrphanJudge(path, times.staleMs, now)
  const deadlineMs = performance.now() + times.waitMs
  let replacedOrphan = false
  let hadToWait = false
  try {
    for (; ; hadToWait = true) {
      throwIfAborted(signal)
      const mtimeNs = await makeLockFolder(path, { fileSystem, times, now })
      if (mtimeNs !== undefined) {
        const facts = { replacedOrphan, hadToWait }
        return new HeldLock(path, mtimeNs, facts, { fileSystem, times, now })
      }
      const sight = await look(path, fileSystem)
      if (sight === undefined) continue
      if (judge.isOrphan(sight) && (await removeOrphan(path, judge, fileSystem, now))) {
        replacedOrphan = true
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
