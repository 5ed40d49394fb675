/** A removal whose every step may fail: the file is there whole, or its copy is. */
import { expect, test } from 'vitest'
import { failNth, watchFileSystem } from '../support/faulty-file-system.mjs'
import {
  anotherStore,
  fileOf,
  givenFiles,
  indexOf,
  litterOf,
  memoryFilesOf,
  testMemory,
} from '../support/test-memory.ts'

const INDEX = '- [Rule](rule.md) — hook\n'

/** @returns how many calls it took; position 0 fails none. */
async function removeUnder(position: number, errno: string): Promise<number> {
  const watched = watchFileSystem()
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  await givenFiles(memory, { 'MEMORY.md': INDEX, 'rule.md': 'body\n' })
  if (position > 0) watched.before = failNth(position, errno)
  const error: unknown = await memory.store.removeFile({ fileName: 'rule.md' }).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  const calls = [...watched.calls]
  const what = `${errno} at call ${position}: ${JSON.stringify(calls[position - 1])}`
  const copies = await anotherStore(memory).listTrash()
  const isThere = (await memoryFilesOf(memory)).length > 0
  expect(await indexOf(memory), what).toBe(INDEX)
  if (!isThere) expect(copies, what).toHaveLength(1)
  if (isThere) {
    // A spare copy may stay when the trash itself could not be flushed.
    const isFlush = calls[position - 1]?.path.endsWith('/.trash') === true
    expect(copies.length, what).toBeLessThanOrEqual(isFlush ? 1 : 0)
    expect(error, what).toBeDefined()
    expect(await fileOf(memory, 'rule.md'), what).toBe('body\n')
  }
  // What cannot be removed at once is for the next transaction.
  const litter = (await litterOf(memory)).filter((name) => name !== '.trash')
  if (!['rmdir', 'unlink', 'rm'].includes(calls[position - 1]?.name ?? '')) {
    expect(litter, what).toEqual([])
  }
  return calls.length
}

test.each(['EIO', 'ENOSPC', 'EACCES'])('%s at any call', async (errno) => {
  const calls = await removeUnder(0, errno)
  expect(calls).toBeGreaterThan(20)
  for (let position = 1; position <= calls; position += 1) await removeUnder(position, errno)
})
