import { expect, test } from 'vitest'
import { systemError, watchFileSystem } from '../support/faulty-file-system.mjs'
import { inBatches } from '../support/proof.ts'
import type { TestMemory } from '../support/test-memory.ts'
import {
  anotherStore,
  fileOf,
  givenFiles,
  linesOf,
  litterOf,
  memoryFilesOf,
  snapshotOf,
  testMemory,
} from '../support/test-memory.ts'

/** Runs side by side; each has a memory of its own. */
const AT_ONCE = 8

const INDEX = '- [Other](other.md) — stays\n- [Rule](rule.md) — old hook\n'
const OLD =
  '---\nname: "rule"\ndescription: "old hook"\nmetadata:\n  type: project\n  node_type: memory\n  title: "Rule"\n---\n\nold body\n'

test('a group of saves on a disk with one fault: each is whole or not there, as it was told', async () => {
  const keys = ['a', 'b', 'c', 'd']
  const save = async (memory: TestMemory) =>
    Promise.allSettled(
      keys.map((key) => memory.store.save({ key, content: `body ${key}`, description: key })),
    )
  const watched = watchFileSystem()
  await save(await testMemory({ fileSystem: watched.fileSystem }))
  for (const errno of ['ENOSPC', 'EMFILE']) {
    const positions = watched.calls.map((call) => call.position)
    await inBatches(positions, AT_ONCE, async (position) => {
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
