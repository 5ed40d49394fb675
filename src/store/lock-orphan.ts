/**
 * Locks whose holder is gone: telling them from live ones, and moving them away.
 *
 * Role: the half of the lock that deals with what others left at its path. A
 * lock is judged by its modification time alone, whatever stands there (a
 * folder, one with content, a file). It is moved away by a rename to a unique
 * name and looked at afterwards, because no file system can remove a folder on
 * the condition that it is still the same one.
 */
import { randomBytes } from 'node:crypto'
import { errnoOf } from '../errors.ts'
import type { FileSystem } from './file-system.ts'

/** A contender that was stopped while it moved an orphan holds the others up for so long, in ms. */
const GUARD_STALE_MS = 1_000

/** What stands at a lock's path. */
export interface Sight {
  mtimeNs: bigint
}

/**
 * Look at a lock without following a link.
 * @returns `undefined` when nothing stands there.
 */
export async function look(path: string, fileSystem: FileSystem): Promise<Sight | undefined> {
  try {
    const { mtimeNs } = await fileSystem.lstat(path, { bigint: true })
    return { mtimeNs }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Locks that this process could not remove, with the time that it last wrote: nobody holds them. */
const abandoned = new Map<string, bigint>()

/** Note a lock of ours that could not be removed, so that the next wait for it need not last. */
export function noteAbandonedLock(path: string, mtimeNs: bigint): void {
  abandoned.set(path, mtimeNs)
}

/** Judges orphans: by age, or, for times in the future, by standing still while we watch. */
export class OrphanJudge {
  readonly #path: string
  readonly #staleMs: number
  readonly #now: () => number
  #watched: { mtimeNs: bigint; sinceMs: number } | undefined

  /**
   * @param path - the lock that is judged.
   * @param staleMs - unrenewed for longer, it is an orphan.
   * @param now - wall clock, ms since the epoch.
   */
  constructor(path: string, staleMs: number, now: () => number) {
    this.#path = path
    this.#staleMs = staleMs
    this.#now = now
  }

  /** @param sight - what stands at the path, or stood there before it was moved. */
  isOrphan(sight: Sight): boolean {
    if (abandoned.get(this.#path) === sight.mtimeNs) return true
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
 * Take the right to move orphans of a lock. It only spares contenders a detour:
 * one that is older than {@link GUARD_STALE_MS} or cannot be made is passed over.
 * @returns whether to go on.
 */
async function takeGuard(
  guard: string,
  fileSystem: FileSystem,
  now: () => number,
): Promise<boolean> {
  try {
    await fileSystem.mkdir(guard, { mode: 0o700 })
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') return true
  }
  const sight = await look(guard, fileSystem)
  if (sight === undefined) return false
  return Math.abs(now() - Number(sight.mtimeNs / 1_000_000n)) > GUARD_STALE_MS
}

/** Move what stands at the path away if it is an orphan; see {@link removeOrphan}. */
async function moveOrphan(
  path: string,
  judge: OrphanJudge,
  fileSystem: FileSystem,
): Promise<boolean> {
  const moved = `${path}.orphan-${randomBytes(8).toString('hex')}`
  const before = await look(path, fileSystem)
  if (before === undefined || !judge.isOrphan(before)) return false
  try {
    await fileSystem.rename(path, moved)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
  const sight = await look(moved, fileSystem)
  const isFresh = sight !== undefined && sight.mtimeNs !== before.mtimeNs && !judge.isOrphan(sight)
  if (isFresh && (await look(path, fileSystem)) === undefined) {
    await fileSystem.rename(moved, path)
    return false
  }
  await fileSystem.rm(moved, { recursive: true, force: true }).catch(() => undefined)
  return true
}

/**
 * Move an orphan out of the way and remove it. Contenders take turns, so that
 * none moves the fresh lock of the one before. A holder may still wake up and
 * renew its lock just before it is moved: that is seen by its time, and it is put
 * back, unless somebody has taken the free place; then the woken holder finds
 * its lock lost.
 * @param path - the lock.
 * @param judge - says what is an orphan.
 * @param now - wall clock, ms since the epoch.
 * @returns whether an orphan was moved away by this call. Content that cannot be
 *   removed stays under the unique name and is in nobody's way.
 * @throws the system's error when the orphan cannot be moved.
 */
export async function removeOrphan(
  path: string,
  judge: OrphanJudge,
  fileSystem: FileSystem,
  now: () => number,
): Promise<boolean> {
  const guard = `${path}.takeover`
  if (!(await takeGuard(guard, fileSystem, now))) return false
  try {
    return await moveOrphan(path, judge, fileSystem)
  } finally {
    await fileSystem.rm(guard, { recursive: true, force: true }).catch(() => undefined)
  }
}
