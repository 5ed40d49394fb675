import { chmod, chown, lstat, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { HASTY, HOUR_S, PATIENT, age, lockPlace, mtimeNs, take } from '../../support/lock-place.ts'

const ORPHANS: [string, (path: string) => Promise<void>][] = [
  ['an empty folder', (path) => mkdir(path)],
  [
    'a folder with unknown content',
    async (path) => {
      await mkdir(join(path, 'deep'), { recursive: true })
      await writeFile(join(path, 'deep', 'note'), 'what is this')
    },
  ],
  ['an empty file', (path) => writeFile(path, '')],
  ['a file with garbage', (path) => writeFile(path, '{')],
  [
    'a folder that nobody may read',
    async (path) => {
      await mkdir(path)
      await chmod(path, 0o000)
    },
  ],
  // Only root can give a folder away; for others this is one more folder of their own.
  [
    'a folder of another user',
    async (path) => {
      await mkdir(path)
      if (process.getuid?.() === 0) await chown(path, 12_345, 12_345)
    },
  ],
]

for (const [name, make] of ORPHANS) {
  test(`${name} that nobody renews is taken over and removed`, async () => {
    const { directory, path } = await lockPlace()
    await make(path)
    await age(path)
    const lock = await take(path)
    expect(lock.replacedOrphan).toBe(true)
    expect(await lock.isHeld()).toBe(true)
    expect(await readdir(directory)).toEqual(['memory.lock'])
    await lock.release()
    expect(await readdir(directory)).toEqual([])
  })
}

test('a lock is no orphan before the stale time is over', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  const { mtimeMs } = await lstat(path)
  const ages: number[] = []
  const watched = watchFileSystem(({ name }) => {
    if (name === 'rename') ages.push(Date.now() - mtimeMs)
  })
  const lock = await take(path, { fileSystem: watched.fileSystem, times: HASTY })
  expect(lock.replacedOrphan).toBe(true)
  expect(ages).toHaveLength(1)
  expect(ages[0]).toBeGreaterThanOrEqual(HASTY.staleMs)
  await lock.release()
})

test('a lock dated in the future is an orphan once it has stood still for the stale time', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  await age(path, -HOUR_S)
  const lock = await take(path, { times: HASTY })
  expect(lock.replacedOrphan).toBe(true)
  expect(await lock.isHeld()).toBe(true)
  await lock.release()
})

test('a lock dated in the future that is renewed is respected', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  let ahead = HOUR_S
  const watched = watchFileSystem(async ({ name }) => {
    if (name === 'mkdir') await age(path, -(ahead += 1))
  })
  const times = { heartbeatMs: 60_000, staleMs: 60, waitMs: 300 }
  await expect(take(path, { fileSystem: watched.fileSystem, times })).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
  })
})

test('a lock that was lost stays lost when it is put back, but is removed at the release', async () => {
  const { directory, path } = await lockPlace()
  const lock = await take(path)
  await rename(path, `${path}.elsewhere`)
  expect(await lock.isHeld()).toBe(false)
  await rename(`${path}.elsewhere`, path)
  expect(await lock.isHeld()).toBe(false)
  expect(await lock.release()).toBe(false)
  expect(await readdir(directory)).toEqual([])
})

test('a lock that its holder renews just before it is moved is put back', async () => {
  const { directory, path } = await lockPlace()
  await mkdir(path)
  await age(path)
  const watched = watchFileSystem(async ({ name, to }) => {
    if (name === 'rename' && to !== path) await age(path, 0)
  })
  await expect(take(path, { fileSystem: watched.fileSystem })).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
  })
  expect(watched.calls.filter(({ name }) => name === 'rename').map(({ to }) => to)).toContain(path)
  expect(await readdir(directory)).toEqual(['memory.lock'])
})

test('a renewed lock is not put back over the lock of a third', async () => {
  const { directory, path } = await lockPlace()
  await mkdir(path)
  await age(path)
  let theirs = 0n
  const watched = watchFileSystem(async ({ name, path: at, to }) => {
    if (name === 'rename' && to !== path) await age(path, 0)
    if (name === 'lstat' && at.includes('.orphan-')) {
      await mkdir(path)
      theirs = await mtimeNs(path)
    }
  })
  await expect(take(path, { fileSystem: watched.fileSystem })).rejects.toMatchObject({
    code: 'LOCK_TIMEOUT',
  })
  expect(await readdir(directory)).toEqual(['memory.lock'])
  expect(await mtimeNs(path)).toBe(theirs)
})

test('of two contenders for one orphan the second does not move the lock of the first', async () => {
  const { path } = await lockPlace()
  await mkdir(path)
  await age(path)
  const times = { ...PATIENT, waitMs: 10_000 }
  const first = watchFileSystem()
  // However slow the machine is, the mark of the first is not to look abandoned.
  const second = watchFileSystem(async ({ name, path: at }) => {
    if (name === 'lstat' && at.endsWith('.takeover')) await age(at, 0).catch(() => {})
  })
  const tries = (): number => second.calls.filter(({ name }) => name === 'mkdir').length
  let secondTurn: Promise<boolean> | undefined
  first.before = async ({ name, to }) => {
    if (name !== 'rename' || to === path) return
    secondTurn = take(path, { fileSystem: second.fileSystem, times }).then((lock) => lock.release())
    await vi.waitFor(() => expect(tries()).toBeGreaterThan(5), { timeout: 10_000 })
  }
  const lock = await take(path, { fileSystem: first.fileSystem, times })
  expect(await lock.isHeld()).toBe(true)
  expect(await lock.release()).toBe(true)
  expect(await secondTurn).toBe(true)
  expect(second.calls.filter(({ name }) => name === 'rename')).toEqual([])
})

test('the mark of a contender that died during a takeover holds nobody up for long', async () => {
  const { directory, path } = await lockPlace()
  await mkdir(path)
  await age(path)
  await mkdir(`${path}.takeover`)
  await age(`${path}.takeover`, 5)
  const lock = await take(path)
  await lock.release()
  expect(await readdir(directory)).toEqual([])
})

test('an orphan that cannot be moved fails with the path, one whose content stays does not', async () => {
  const { directory, path } = await lockPlace()
  await mkdir(path)
  await age(path)
  const unmovable = watchFileSystem(failMatching(({ name }) => name === 'rename', 'EACCES'))
  await expect(take(path, { fileSystem: unmovable.fileSystem })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'EACCES',
    path,
    message: expect.stringContaining(path),
  })
  expect(await readdir(directory)).toEqual(['memory.lock'])
  const sticky = watchFileSystem(
    failMatching(({ name, path: at }) => name === 'rm' && at.includes('.orphan-'), 'EACCES'),
  )
  const lock = await take(path, { fileSystem: sticky.fileSystem })
  expect(await lock.isHeld()).toBe(true)
  await lock.release()
})
