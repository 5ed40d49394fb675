import { lstat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { localFileSystem } from '../../src/store/file-system.ts'
import type { Lock, LockOptions, LockTimes } from '../../src/store/lock.ts'
import { acquireLock } from '../../src/store/lock.ts'
import { temporaryDirectory } from './temp-directory.ts'

/** A holder that never seems stale during a test, and waiters that give up soon. */
export const PATIENT: LockTimes = { heartbeatMs: 60_000, staleMs: 60_000, waitMs: 60 }

/** An orphan after a blink. */
export const HASTY: LockTimes = { heartbeatMs: 60_000, staleMs: 30, waitMs: 5_000 }

/** An hour in seconds. */
export const HOUR_S = 3_600

/** An empty directory and the path of a lock in it. */
export async function lockPlace(): Promise<{ directory: string; path: string }> {
  const directory = await temporaryDirectory()
  return { directory, path: join(directory, 'memory.lock') }
}

/** Take a lock, by default with {@link PATIENT} times. */
export function take(path: string, options: Partial<LockOptions> = {}): Promise<Lock> {
  return acquireLock(path, { fileSystem: localFileSystem, times: PATIENT, ...options })
}

/** Date something back, by an hour if not told otherwise; a negative number dates it ahead. */
export async function age(path: string, seconds = HOUR_S): Promise<void> {
  const then = Date.now() / 1000 - seconds
  await utimes(path, then, then)
}

/** @returns the modification time to the nanosecond. */
export async function mtimeNs(path: string): Promise<bigint> {
  return (await lstat(path, { bigint: true })).mtimeNs
}
