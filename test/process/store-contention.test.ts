import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readMemoryHeader } from '../../src/format/memory-file.ts'
import { workers } from '../support/store-worker.ts'
import { fileOf, linesOf, litterOf, memoryFilesOf, testMemory } from '../support/test-memory.ts'

const ROUNDS = 30

async function leaveOrphan(lockPath: string, round: number): Promise<void> {
  await mkdir(dirname(lockPath), { recursive: true })
  if (round % 3 === 0) await writeFile(lockPath, '{')
  else await mkdir(lockPath)
  if (round % 3 === 1) await writeFile(join(lockPath, 'note'), 'what is this')
  const then = Date.now() / 1000 - 3_600
  await utimes(lockPath, then, then)
}

test(`ten processes that meet an orphaned lock all save, ${ROUNDS} rounds long`, async () => {
  const processes = workers(10)
  for (let round = 0; round < ROUNDS; round += 1) {
    const memory = await testMemory()
    await leaveOrphan(memory.lockPath, round)
    const outcomes = await Promise.all(
      processes.map((worker, at) =>
        worker.save({ home: memory.home, saves: [{ key: `key ${at}`, content: `from ${at}` }] }),
      ),
    )
    expect(outcomes.flat().filter(({ error }) => error !== undefined)).toEqual([])
    expect(await memoryFilesOf(memory)).toHaveLength(10)
    expect(new Set(await linesOf(memory)).size).toBe(10)
    expect(await litterOf(memory)).toEqual([])
  }
})

test('8 processes with 50 saves each leave 400 lines and 400 files, and readers never see a torn index', async () => {
  const memory = await testMemory()
  const { home } = memory
  const readers = workers(2)
  const line = String.raw`^- \[p\d k\d+\]\(p\d-k\d+\.md\) — hook \d \d+$`
  const reading = readers.map((worker) => worker.read({ home, line }))
  const outcomes = await Promise.all(
    workers(8).map((worker, at) => {
      const saves = Array.from({ length: 50 }, (_, number) => ({
        key: `p${at} k${number}`,
        content: `body ${number}`,
        description: `hook ${at} ${number}`,
      }))
      return worker.save({ home, saves, atOnce: at % 2 === 0 })
    }),
  )
  for (const worker of readers) await worker.stopReading()
  expect(outcomes.flat().filter(({ saved }) => saved?.replaced !== false)).toEqual([])
  expect(new Set(await linesOf(memory)).size).toBe(400)
  expect(await linesOf(memory)).toHaveLength(400)
  expect(await memoryFilesOf(memory)).toHaveLength(400)
  expect(await litterOf(memory)).toEqual([])
  for (const { reads, faults } of await Promise.all(reading)) {
    expect(faults).toEqual([])
    expect(reads).toBeGreaterThan(10)
  }
})

test('parallel saves of one key from several processes leave one line and one whole file that belong together', async () => {
  const memory = await testMemory()
  const outcomes = await Promise.all(
    workers(5).map((worker, at) => {
      const saves = [1, 2].map((time) => ({
        key: 'build',
        content: `${at}`.repeat(200_000),
        description: `from ${at} time ${time}`,
      }))
      return worker.save({ home: memory.home, saves, atOnce: true })
    }),
  )
  const saved = outcomes.flat().map((outcome) => outcome.saved?.replaced)
  expect(saved.filter((replaced) => replaced === false)).toHaveLength(1)
  expect(saved.filter((replaced) => replaced === true)).toHaveLength(9)
  expect(await memoryFilesOf(memory)).toEqual(['build.md'])
  const text = await fileOf(memory, 'build.md')
  expect(text).toMatch(/\n\n(\d)\1{199999}\n$/u)
  const { description } = readMemoryHeader(text)
  expect(await linesOf(memory)).toEqual([`- [build](build.md) — ${description}`])
  expect(await litterOf(memory)).toEqual([])
})

test('a process that ends as soon as it has its answer leaves no lock, whatever the answer', async () => {
  const memory = await testMemory()
  const [good, bad] = workers(2)
  await good
    ?.save({ home: memory.home, saves: [{ key: 'x', content: 'c' }], exits: true })
    .catch(() => {})
  expect(await good?.ended).toBe(0)
  expect(await litterOf(memory)).toEqual([])
  await mkdir(join(memory.paths.root, 'y.md'))
  await bad
    ?.save({ home: memory.home, saves: [{ key: 'y', content: 'c' }], exits: true })
    .catch(() => {})
  expect(await bad?.ended).toBe(0)
  expect(await litterOf(memory)).toEqual([])
  expect(await readFile(memory.paths.indexFilePath, 'utf8')).toBe('- [x](x.md) — c\n')
})
