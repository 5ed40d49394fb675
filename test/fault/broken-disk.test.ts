import { expect, test } from 'vitest'
import { systemError, watchFileSystem } from '../support/faulty-file-system.mjs'
import type { FileSystemCall } from '../support/faulty-file-system.mjs'
import {
  anotherStore,
  fileOf,
  givenFiles,
  indexOf,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  testMemory,
} from '../support/test-memory.ts'
import type { TestMemory } from '../support/test-memory.ts'

/** Runs side by side; each has a memory of its own. */
const AT_ONCE = 8

const INDEX = '- [Other](other.md) — stays\n- [Rule](rule.md) — old hook\n'
const OLD =
  '---\nname: "rule"\ndescription: "old hook"\nmetadata:\n  type: project\n  node_type: memory\n  title: "Rule"\n---\n\nold body\n'

async function inBatches(count: number, run: (position: number) => Promise<void>): Promise<void> {
  for (let first = 1; first <= count; first += AT_ONCE) {
    const positions = Array.from(
      { length: Math.min(AT_ONCE, count - first + 1) },
      (_, at) => first + at,
    )
    await Promise.all(positions.map(run))
  }
}

async function brokenFrom(
  position: number,
): Promise<{ memory: TestMemory; calls: FileSystemCall[] }> {
  const watched = watchFileSystem((call) => {
    if (call.position >= position) throw systemError('EIO', call.name, call.path)
  })
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  await givenFiles(memory, { 'MEMORY.md': INDEX, 'rule.md': OLD })
  return { memory, calls: watched.calls }
}

async function expectRecovery(memory: TestMemory): Promise<void> {
  await anotherStore(memory).save({ key: 'Rule', content: 'third', description: 'third hook' })
  expect(await fileOf(memory, 'rule.md')).toContain('third')
  expect(await linesOf(memory)).toEqual([
    '- [Other](other.md) — stays',
    '- [Rule](rule.md) — third hook',
  ])
  expect(await memoryFilesOf(memory)).toEqual(['rule.md'])
  expect(await litterOf(memory)).toEqual([])
}

test('a disk that dies in the middle of a save leaves whole files, a true answer, and recovers', async () => {
  const { memory: healthy, calls } = await brokenFrom(Infinity)
  await healthy.store.save({ key: 'Rule', content: 'new body', description: 'new hook' })
  await inBatches(calls.length, async (position) => {
    const { memory } = await brokenFrom(position)
    const error = await memory.store
      .save({ key: 'Rule', content: 'new body', description: 'new hook' })
      .then(
        () => undefined,
        (failure: unknown) => failure as Error,
      )
    const file = await fileOf(memory, 'rule.md')
    const isNewFile = file.includes('\n\nnew body\n')
    const isNewIndex = (await indexOf(memory)) === INDEX.replace('old hook', 'new hook')
    if (!isNewFile) expect(file).toBe(OLD)
    if (!isNewIndex) expect(await indexOf(memory)).toBe(INDEX)
    const told = error?.message ?? 'saved'
    if (isNewIndex) expect(told).toMatch(/^saved$|the memory was written/u)
    else if (isNewFile) expect(told).toMatch(/could not be put back: .*rule\.md/u)
    else expect(told).not.toMatch(/^saved$|was written|put back/u)
    await expectRecovery(memory)
  })
})

test('a group of saves on a disk with one fault: each is whole or not there, as it was told', async () => {
  const keys = ['a', 'b', 'c', 'd']
  const save = async (memory: TestMemory) =>
    Promise.allSettled(
      keys.map((key) => memory.store.save({ key, content: `body ${key}`, description: key })),
    )
  const watched = watchFileSystem()
  await save(await testMemory({ fileSystem: watched.fileSystem }))
  for (const errno of ['ENOSPC', 'EMFILE']) {
    await inBatches(watched.calls.length, async (position) => {
      const faulty = watchFileSystem((call) => {
        if (call.position === position) throw systemError(errno, call.name, call.path)
      })
      const memory = await testMemory({ fileSystem: faulty.fileSystem })
      const outcomes = await save(memory)
      const isConfirmed = (outcome: PromiseSettledResult<unknown>): boolean =>
        outcome.status === 'fulfilled' ||
        /the memory was written/u.test((outcome.reason as Error).message)
      const saved = keys.filter((_, at) =>
        isConfirmed(outcomes[at] as PromiseSettledResult<unknown>),
      )
      expect(await linesOf(memory)).toEqual(saved.map((key) => `- [${key}](${key}.md) — ${key}`))
      expect(await memoryFilesOf(memory)).toEqual(saved.map((key) => `${key}.md`))
      for (const key of saved)
        expect(await fileOf(memory, `${key}.md`)).toContain(`\n\nbody ${key}\n`)
      const failed = faulty.calls[position - 1]?.name ?? ''
      if (!['unlink', 'rmdir', 'rm'].includes(failed)) expect(await litterOf(memory)).toEqual([])
      const again = await Promise.all(
        keys.map((key) => anotherStore(memory).save({ key, content: 'again', description: key })),
      )
      expect(again.map(({ replaced }) => replaced)).toEqual(keys.map((key) => saved.includes(key)))
      expect(await memoryFilesOf(memory)).toEqual(keys.map((key) => `${key}.md`))
      expect(await litterOf(memory)).toEqual([])
    })
  }
})

test('an index and a file that only get half their bytes are never seen', async () => {
  for (const half of ['.rule.md.tmp-', '.MEMORY.md.tmp-']) {
    const watched = watchFileSystem()
    const memory = await testMemory({ fileSystem: watched.fileSystem })
    await givenFiles(memory, { 'MEMORY.md': INDEX, 'rule.md': OLD })
    const before = await snapshotOf(memory)
    const { open } = watched.fileSystem
    watched.fileSystem.open = async (...args) => {
      const handle = await open(...args)
      if (!String(args[0]).includes(half)) return handle
      const writev = async ([first]: readonly Uint8Array[]): Promise<never> => {
        await handle.write(first ?? Buffer.alloc(0), 0, 5)
        throw systemError('ENOSPC', 'writev', String(args[0]))
      }
      return Object.assign(handle, { writev })
    }
    const saving = memory.store.save({ key: 'Rule', content: 'new body', description: 'new hook' })
    await expect(saving).rejects.toMatchObject({ code: 'WRITE_FAILED', errno: 'ENOSPC' })
    expect(await snapshotOf(memory)).toEqual(before)
    expect(await litterOf(memory)).toEqual([])
  }
})
