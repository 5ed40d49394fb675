/** Changes that somebody else makes under the memory's queue and lock. */
import { mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { failMatching, watchFileSystem } from '../../support/faulty-file-system.mjs'
import { linesOf, litterOf, testMemory } from '../../support/test-memory.ts'

test('finds the directory made, for the owner alone', async () => {
  const { paths, store } = await testMemory()
  const names = await store.exclusively(() => readdir(paths.root))
  expect(names).toEqual([])
  expect((await stat(paths.root)).mode & 0o777).toBe(0o700)
  expect((await stat(dirname(paths.root))).mode & 0o777).toBe(0o700)
})

test('is alone: a save of the same moment waits for it', async () => {
  const memory = await testMemory()
  const seen: string[] = []
  const change = memory.store.exclusively(async () => {
    seen.push('change begins', ...(await litterOf(memory)))
    await new Promise(setImmediate)
    seen.push(`index has ${(await linesOf(memory)).length} lines`)
  })
  const save = memory.store.save({ key: 'Rule', content: 'body' }).then(() => seen.push('saved'))
  await Promise.all([change, save])
  expect(seen).toEqual(['change begins', 'memory.lock', 'index has 0 lines', 'saved'])
})

test('ends with a flush of the directory', async () => {
  const watched = watchFileSystem()
  const { paths, store } = await testMemory({ fileSystem: watched.fileSystem })
  await store.exclusively(() => writeFile(join(paths.root, 'a.md'), 'x'))
  const flushed = watched.calls.filter(({ name, path }) => {
    return name === 'handle.sync' && path === paths.root
  })
  expect(flushed.length).toBeGreaterThan(0)

  watched.before = failMatching(
    ({ name, path }) => name === 'handle.sync' && path === paths.root,
    'EIO',
  )
  await expect(store.exclusively(async () => 'written')).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    errno: 'EIO',
  })
})

test('leaves no lock when it fails, and its own error comes through', async () => {
  const memory = await testMemory()
  const error = new Error('refused by the host')
  await expect(memory.store.exclusively(() => Promise.reject(error))).rejects.toBe(error)
  expect(await litterOf(memory)).toEqual([])
  expect(await memory.store.exclusively(async () => 'again')).toBe('again')
})

test('does not begin when a link stands in the path', async () => {
  const { home, paths, store } = await testMemory()
  await mkdir(join(home, 'elsewhere'))
  await mkdir(dirname(paths.root), { recursive: true })
  await symlink(join(home, 'elsewhere'), paths.root)
  let hasBegun = false
  const change = store.exclusively(async () => {
    hasBegun = true
  })
  await expect(change).rejects.toMatchObject({ code: 'UNSAFE_PATH' })
  expect(hasBegun).toBe(false)
})

test('sweeps what a killed writer of the host has staged, and doctor knows it too', async () => {
  const memory = await testMemory()
  const { paths, store } = memory
  const staging = '.a.md.4711.01234567-89ab-4cde-8f01-23456789abcd.tmpdir'
  const stage = async (): Promise<void> => {
    await mkdir(join(paths.root, staging), { recursive: true })
    await writeFile(join(paths.root, staging, 'a.md.tmp'), 'half')
  }
  await stage()
  const findings = await store.examine()
  expect(findings.map(({ code }) => code)).toEqual(['temporary-file'])
  await store.repair(findings)
  expect(await readdir(paths.root)).toEqual([])

  await stage()
  await store.exclusively(async () => undefined)
  expect(await readdir(paths.root)).toEqual([staging])
  const other = await testMemory()
  await mkdir(join(other.paths.root, staging), { recursive: true })
  await utimes(join(other.paths.root, staging), 1_000, 1_000)
  await other.store.exclusively(async () => undefined)
  expect(await readdir(other.paths.root)).toEqual([])
})

test('gives up waiting for the lock when aborted', async () => {
  const { lockPath, paths, store } = await testMemory()
  await mkdir(paths.root, { recursive: true })
  await mkdir(lockPath)
  const controller = new AbortController()
  const change = store.exclusively(async () => 'never', controller.signal)
  controller.abort()
  await expect(change).rejects.toMatchObject({ name: 'AbortError' })
})
