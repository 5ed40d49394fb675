import { lstat, mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { HOUR_S, PATIENT, age, lockPlace, mtimeNs, take } from '../../support/lock-place.ts'

test('a lock is a folder for the owner alone, gone after the release', async () => {
  const { directory, path } = await lockPlace()
  const lock = await take(path)
  const stats = await lstat(path)
  expect(stats.isDirectory()).toBe(true)
  expect(stats.mode & 0o777).toBe(0o700)
  expect(await lock.isHeld()).toBe(true)
  expect(lock.replacedOrphan).toBe(false)
  expect(await lock.release()).toBe(true)
  expect(await readdir(directory)).toEqual([])
  expect(await lock.isHeld()).toBe(false)
})

test('contenders never hold it at the same time', async () => {
  const { path } = await lockPlace()
  let holders = 0
  let most = 0
  const turn = async (): Promise<void> => {
    const lock = await take(path, { times: { ...PATIENT, waitMs: 10_000 } })
    holders += 1
    most = Math.max(most, holders)
    await lstat(path)
    holders -= 1
    await lock.release()
  }
  await Promise.all(Array.from({ length: 12 }, turn))
  expect(most).toBe(1)
})

test('a live lock is waited for, then the timeout names its path and leaves it alone', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  const before = await mtimeNs(path)
  await expect(take(path)).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
    path,
    message: expect.stringContaining(path),
  })
  expect(await mtimeNs(path)).toBe(before)
})

test('the holder renews it, so that it outlives the stale time', async () => {
  const { path } = await lockPlace()
  let clockMs = Date.now()
  const now = (): number => clockMs
  const times = { heartbeatMs: 1, staleMs: 1_000, waitMs: 0 }
  const lock = await take(path, { times, now })
  for (let step = 0; step < 5; step += 1) {
    clockMs += 900
    await vi.waitFor(async () => expect((await lstat(path)).mtimeMs).toBeCloseTo(clockMs, 0))
    await expect(take(path, { times, now })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  }
  expect(await lock.isHeld()).toBe(true)
  expect(await lock.release()).toBe(true)
})

test('a release stops the heartbeat', async () => {
  const { path } = await lockPlace()
  const watched = watchFileSystem()
  const times = { ...PATIENT, heartbeatMs: 1 }
  const lock = await take(path, { times, fileSystem: watched.fileSystem })
  await vi.waitFor(() => expect(watched.calls.map(({ name }) => name)).toContain('handle.utimes'))
  await lock.release()
  const count = watched.calls.length
  const other = await take(path, { times: { ...times, heartbeatMs: 60_000 } })
  await vi.waitFor(async () => expect(await other.isHeld()).toBe(true))
  expect(watched.calls.length).toBe(count)
  await other.release()
})

test('a release after a takeover leaves the lock of the other', async () => {
  const { path } = await lockPlace()
  const lost = await take(path)
  await age(path)
  const other = await take(path)
  const theirs = await mtimeNs(path)
  expect(await lost.isHeld()).toBe(false)
  expect(await lost.release()).toBe(false)
  expect(await mtimeNs(path)).toBe(theirs)
  expect(await other.isHeld()).toBe(true)
  await other.release()
})

test('a heartbeat that finds another lock in its place does not renew it', async () => {
  const { path } = await lockPlace()
  const watched = watchFileSystem()
  const times = { ...PATIENT, heartbeatMs: 1 }
  let theirs = 0n
  watched.before = async ({ name }) => {
    if (name !== 'handle.utimes' || theirs !== 0n) return
    await rename(path, `${path}.taken`)
    await mkdir(path)
    await age(path, 7)
    theirs = await mtimeNs(path)
  }
  const lock = await take(path, { times, fileSystem: watched.fileSystem })
  await vi.waitFor(async () => expect(await lock.isHeld()).toBe(false))
  expect(theirs).not.toBe(0n)
  expect(await lock.release()).toBe(false)
  expect(await mtimeNs(path)).toBe(theirs)
})

test('waiting ends at once when it is aborted, whatever the reason', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  const controller = new AbortController()
  const watched = watchFileSystem(({ position }) => {
    if (position === 4) controller.abort(new Error('the user went home'))
  })
  const times = { ...PATIENT, waitMs: 60_000 }
  const { signal } = controller
  const waiting = take(path, { fileSystem: watched.fileSystem, signal, times })
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  await expect(take(path, { signal, times })).rejects.toMatchObject({ name: 'AbortError' })
})

test('a lock whose folder was made but cannot be looked at is removed again', async () => {
  const { directory, path } = await lockPlace()
  const watched = watchFileSystem(failMatching(({ name }) => name === 'lstat', 'EIO'))
  await expect(take(path, { fileSystem: watched.fileSystem })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'EIO',
    path,
  })
  expect(await readdir(directory)).toEqual([])
})

test('a doubt about the lock is a no, yet the lock is not lost and is released', async () => {
  const { directory, path } = await lockPlace()
  const watched = watchFileSystem()
  const lock = await take(path, { fileSystem: watched.fileSystem })
  watched.before = failMatching(({ name }) => name === 'lstat', 'EIO', 1)
  expect(await lock.isHeld()).toBe(false)
  expect(await lock.isHeld()).toBe(true)
  watched.before = failMatching(({ name }) => name === 'lstat', 'EIO', 1)
  expect(await lock.release()).toBe(true)
  expect(await readdir(directory)).toEqual([])
})

test('a release is tried again while something holds the folder, and never throws', async () => {
  const { directory, path } = await lockPlace()
  const watched = watchFileSystem()
  const lock = await take(path, { fileSystem: watched.fileSystem })
  watched.before = failMatching(({ name }) => name === 'rmdir', 'EBUSY', 2)
  expect(await lock.release()).toBe(true)
  expect(await readdir(directory)).toEqual([])
})

test('a lock of ours that could not be removed is taken over by this process at once', async () => {
  const { path } = await lockPlace()
  const watched = watchFileSystem(failMatching(({ name }) => name === 'rmdir', 'EPERM'))
  const lock = await take(path, { fileSystem: watched.fileSystem })
  expect(await lock.release()).toBe(true)
  const next = await take(path)
  expect(await next.isHeld()).toBe(true)
  await next.release()
})

test('a lock with content that came in at the last moment is released whole', async () => {
  const { directory, path } = await lockPlace()
  const watched = watchFileSystem(async ({ name }) => {
    if (name === 'rmdir') await writeFile(join(path, '.DS_Store'), '')
  })
  const lock = await take(path, { fileSystem: watched.fileSystem })
  expect(await lock.release()).toBe(true)
  expect(await readdir(directory)).toEqual([])
})

test('a folder that a server with another clock dated gets our time at once', async () => {
  const { path } = await lockPlace()
  const now = (): number => Date.now() + HOUR_S * 1000
  const lock = await take(path, { now })
  const { mtimeMs } = await lstat(path)
  expect(Math.abs(mtimeMs - now())).toBeLessThan(60_000)
  expect(await lock.isHeld()).toBe(true)
  await lock.release()
})

test('without the folder around it there is no lock, and the error names the path', async () => {
  const { directory, path } = await lockPlace()
  await rmdir(directory)
  await expect(take(path)).rejects.toMatchObject({ code: 'WRITE_FAILED', errno: 'ENOENT', path })
})

test('a lock removed by hand is lost, and its release is harmless', async () => {
  const { directory, path } = await lockPlace()
  const lock = await take(path)
  await rm(path, { recursive: true })
  expect(await lock.isHeld()).toBe(false)
  expect(await lock.release()).toBe(false)
  expect(await readdir(directory)).toEqual([])
})
