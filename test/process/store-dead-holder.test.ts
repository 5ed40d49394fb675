import { lstat } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { readMemoryHeader } from '../../src/format/memory-file.ts'
import { StoreWorker, stopped } from '../support/store-worker.ts'
import type { WorkerOutcome } from '../support/store-worker.ts'
import {
  anotherStore,
  fileOf,
  linesOf,
  litterOf,
  memoryFilesOf,
  testMemory,
} from '../support/test-memory.ts'
import type { TestMemory } from '../support/test-memory.ts'

/** Stale soon, but heartbeats come often enough for a busy machine. */
const LOCK_TIMES = { heartbeatMs: 100, staleMs: 800, waitMs: 20_000 }
/** Never takes over a lock during a test. */
const PATIENT = { ...LOCK_TIMES, staleMs: 600_000, waitMs: 100_000 }

/** Whether a process stands still is read from `/proc`. */
const isElsewhere = process.platform !== 'linux'
const note = isElsewhere ? ' (skipped: not on Linux)' : ''

const MOMENTS = [
  'the lock is taken',
  'files are being written',
  'a file is about to be visible',
  'files are visible',
  'the index is about to be visible',
  'the lock is about to be released',
]

function input(key: string) {
  return { key, content: `body of ${key}`, description: `hook of ${key}` }
}

function lineOf(key: string): string {
  return `- [${key}](${key}.md) — hook of ${key}`
}

/** Every line has its whole file; only the file of an interrupted save may lack a line. */
async function expectConsistent(memory: TestMemory, interrupted: string): Promise<void> {
  const lines = await linesOf(memory)
  const files = await memoryFilesOf(memory)
  const unlisted = files.filter((name) => !lines.some((line) => line.includes(`(${name})`)))
  expect(unlisted.filter((name) => name !== `${interrupted}.md`)).toEqual([])
  expect(lines.filter((line) => !files.some((name) => line.includes(`(${name})`)))).toEqual([])
  for (const name of files) {
    const text = await fileOf(memory, name)
    const { title, description } = readMemoryHeader(text)
    expect(description).toBe(`hook of ${title}`)
    expect(text.endsWith(`\n\nbody of ${title}\n`)).toBe(true)
  }
}

for (const moment of MOMENTS) {
  test(`a holder killed when ${moment}: others save soon after, and nothing is torn`, async () => {
    const memory = await testMemory()
    const { home } = memory
    await memory.store.save(input('first'))
    const holder = new StoreWorker()
    const stop = { moment, signal: 'SIGKILL' as const }
    holder.save({ home, saves: [input('killed')], lockTimes: LOCK_TIMES, stop }).catch(() => {})
    expect(await holder.ended).toBe('SIGKILL')
    await expectConsistent(memory, 'killed')
    const other = new StoreWorker()
    const [outcomes] = await Promise.all([
      other.save({ home, saves: [input('other')], lockTimes: LOCK_TIMES }),
      anotherStore(memory, { lockTimes: LOCK_TIMES }).save(input('here')),
    ])
    expect(outcomes).toMatchObject([{ saved: { fileName: 'other.md' } }])
    const lines = await linesOf(memory)
    for (const key of ['first', 'other', 'here']) expect(lines).toContain(lineOf(key))
    await expectConsistent(memory, 'killed')
    expect(await litterOf(memory)).toEqual([])
    await anotherStore(memory).save(input('killed'))
    expect((await linesOf(memory)).toSorted()).toEqual(
      ['first', 'here', 'killed', 'other'].map(lineOf),
    )
  })
}

/** All that were told to be saved are there; the stopped one may have been refused. */
async function expectAll(memory: TestMemory, stoppedOutcome: WorkerOutcome | undefined) {
  const lines = await linesOf(memory)
  for (const key of ['b', 'c']) expect(lines).toContain(lineOf(key))
  if (stoppedOutcome?.error === undefined) expect(lines).toContain(lineOf('a'))
  else expect(lines).not.toContain(lineOf('a'))
  await expectConsistent(memory, '')
  expect(await litterOf(memory)).toEqual([])
}

for (const moment of MOMENTS) {
  test.skipIf(isElsewhere)(
    `a holder stopped past the stale time when ${moment}: nobody's save is lost${note}`,
    async () => {
      const memory = await testMemory()
      const { home } = memory
      const a = new StoreWorker()
      const stop = { moment, signal: 'SIGSTOP' as const }
      const savingA = a.save({ home, saves: [input('a')], lockTimes: LOCK_TIMES, stop })
      await stopped(a)
      const others = [new StoreWorker(), new StoreWorker()]
      for (const [at, worker] of others.entries()) {
        const saves = [input('bc'.charAt(at))]
        const [outcome] = await worker.save({ home, saves, lockTimes: LOCK_TIMES })
        expect(outcome?.error).toBeUndefined()
      }
      a.child.kill('SIGCONT')
      const [outcome] = await savingA
      await expectAll(memory, outcome)
    },
  )
}

test.skipIf(isElsewhere)(
  `a holder that wakes up does not touch the lock of the one that holds it by now${note}`,
  async () => {
    const memory = await testMemory()
    const { home } = memory
    const a = new StoreWorker()
    const savingA = a.save({
      home,
      saves: [input('a')],
      lockTimes: PATIENT,
      stop: { moment: 'files are visible', signal: 'SIGSTOP' },
    })
    await stopped(a)
    const b = new StoreWorker()
    await b.save({ home, saves: [input('b')], lockTimes: LOCK_TIMES })
    const c = new StoreWorker()
    const savingC = c.save({
      home,
      saves: [input('c')],
      lockTimes: PATIENT,
      stop: { moment: 'the index is about to be visible', signal: 'SIGSTOP' },
    })
    await stopped(c)
    const { ino, mtimeMs } = await lstat(memory.lockPath)
    const tries = a.lockTries
    a.child.kill('SIGCONT')
    await vi.waitFor(() => expect(a.lockTries).toBeGreaterThan(tries + 2), { timeout: 20_000 })
    expect(await lstat(memory.lockPath)).toMatchObject({ ino, mtimeMs })
    expect(await linesOf(memory)).toEqual([lineOf('b')])
    c.child.kill('SIGCONT')
    expect((await savingC)[0]?.error).toBeUndefined()
    await expectAll(memory, (await savingA)[0])
    expect(await linesOf(memory)).toHaveLength(3)
  },
)
