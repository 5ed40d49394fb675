import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import type { ChangeProcess, Said } from '../support/change-process.ts'
import { startChanging } from '../support/change-process.ts'
import { contentsOf, listedIn, litterIn } from '../support/left-behind.ts'
import { IS_FULL, counted, printCount } from '../support/proof.ts'
import type { TestMemory } from '../support/test-memory.ts'
import {
  anotherStore,
  givenFiles,
  holdLock,
  takeLockAway,
  testMemory,
} from '../support/test-memory.ts'

const PROCESSES = 8
const SAVES = IS_FULL ? 200 : 25
const CONTENDERS = 10
/** Runs of each point; in every other one the lock is taken away at once. */
const STOPS = IS_FULL ? 30 : 2

/** Stale soon, so that a stopped holder is passed over within a test; waiters wait long. */
const TIMES = { heartbeatMs: 100, staleMs: 700, waitMs: 60_000 }

const TIMEOUT_MS = 1_200_000

const count = { changes: 0, reads: 0, stops: 0, windows: 0, missing: 0 }

afterAll(() => {
  const changes = `${counted(count.changes)} changes of ${PROCESSES} processes beside ${counted(count.reads)} reads`
  const stops = `${count.stops} stopped holders, ${count.windows} of them met the lost lock after the rename`
  printCount(`kill: ${changes}; ${stops}; ${count.missing} missing at the end`)
})

/** The keys that must be there after what a process has said; shared ones are left out. */
function keptKeys(said: readonly Said[]): string[] {
  const kept = new Set<string>()
  for (const { done } of said) {
    if (done === undefined || done.key === 'contested') continue
    if (done.kind === 'save') kept.add(done.key)
    else kept.delete(done.key)
  }
  return [...kept]
}

async function expectAllThere(memory: TestMemory, keys: Iterable<string>): Promise<void> {
  const { files, index } = await contentsOf(memory)
  const listed = listedIn(index)
  const missing = [...keys].filter((key) => {
    const isListedOnce = listed.filter((name) => name === `${key}.md`).length === 1
    return files[`${key}.md`] === undefined || !isListedOnce
  })
  count.missing += missing.length
  expect(missing).toEqual([])
  expect(listed.toSorted()).toEqual(Object.keys(files).sort())
  expect(await litterIn(memory)).toEqual([])
}

/** Reads until told to stop: each index is whole, and no line goes that nobody takes away. */
async function readAlong(memory: TestMemory, isOver: () => boolean): Promise<void> {
  const store = anotherStore(memory)
  let seen: string[] = []
  while (!isOver()) {
    const { content, exists } = await store.readIndex()
    count.reads += 1
    if (!exists) continue
    expect(content.endsWith('\n')).toBe(true)
    const lines = content.split('\n').slice(0, -1)
    for (const line of lines) expect(line).toMatch(/^- \[[\w-]+\]\([\w-]+\.md\) — version \d+/u)
    const stay = lines.filter((line) => /^- \[p\d-\d*[05]\]/u.test(line))
    expect(stay).toEqual(expect.arrayContaining(seen))
    seen = stay
  }
}

test(
  `${PROCESSES} processes save, replace and forget ${SAVES} times each, some of it the same memories, beside readers: no line is lost, no reader sees a half`,
  async () => {
    const memory = await testMemory()
    const processes = Array.from({ length: PROCESSES }, (_, number) =>
      startChanging(memory.home, 'saves', { count: SAVES, name: `p${number}` }),
    )
    let isOver = false
    const readers = [readAlong(memory, () => isOver), readAlong(memory, () => isOver)]
    const ends = await Promise.all(processes.map(({ ended }) => ended))
    isOver = true
    await Promise.all(readers)
    for (const end of ends) expect(end).toMatchObject({ code: 0, errors: '' })
    const said = processes.flatMap((process) => process.said)
    count.changes += said.filter(({ done }) => done !== undefined).length
    await expectAllThere(
      memory,
      processes.flatMap((process) => keptKeys(process.said)),
    )
    const { files } = await contentsOf(memory)
    for (const [name, text] of Object.entries(files)) expect(text, name).toMatch(/\nend \d+\n*$/u)
  },
  TIMEOUT_MS,
)

/** Resolves once the system says that a process is stopped. */
async function isStopped({ child }: ChangeProcess): Promise<void> {
  for (;;) {
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8')
    if (/\) T /u.test(stat)) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const STOP_POINTS = [
  'the rename of the index',
  'the rename of the file',
  'the flush of the directory',
]

test.runIf(process.platform === 'linux').each([
  ['save', STOP_POINTS],
  ['forget', ['the rename of the index', 'the removal of the file']],
] as const)(
  'a %s that is stopped past the stale time and goes on loses nothing of what others saved meanwhile',
  async (kind, points) => {
    for (let at = 0; at < STOPS * points.length; at += 1) {
      const point = points[Math.floor(at / 2) % points.length] as string
      const memory = await testMemory()
      const others = anotherStore(memory, { lockTimes: TIMES })
      await others.save({ key: 'before', content: 'stays' })
      if (kind === 'forget') await others.save({ key: 'mine', content: 'old' })
      const options = {
        point,
        signal: 'SIGSTOP',
        step: { kind, key: 'mine', version: 1 },
        lockTimes: TIMES,
      }
      const stopped = startChanging(memory.home, 'point', options)
      try {
        await stopped.says(({ at: reached }) => reached === point)
        await isStopped(stopped)
        // As if the one who moved the orphan had died: nobody sweeps the temp file, the window is open.
        if (at % 2 === 0) await takeLockAway(memory)
        await others.save({ key: 'meanwhile', content: 'must not be lost' })
        if (kind === 'forget') await others.save({ key: 'mine', content: 'newer' })
      } finally {
        stopped.child.kill('SIGCONT')
      }
      expect(await stopped.ended, point).toMatchObject({ code: 0, errors: '' })
      count.stops += 1
      if (stopped.said.some(({ hasReconciled }) => hasReconciled === true)) count.windows += 1
      const mine = kind === 'save' ? ['mine'] : []
      await expectAllThere(memory, ['before', 'meanwhile', ...mine])
    }
  },
  TIMEOUT_MS,
)

const HOUR_S = 3_600

const ORPHANS: [name: string, make: (memory: TestMemory) => Promise<void>][] = [
  [
    'an old lock',
    async (memory) => {
      await holdLock(memory)
      await dateLock(memory, -HOUR_S)
    },
  ],
  [
    'a lock dated in the future',
    async (memory) => {
      await holdLock(memory)
      await dateLock(memory, HOUR_S)
    },
  ],
  [
    'an old lock with content',
    async (memory) => {
      await holdLock(memory)
      await mkdir(`${memory.lockPath}/content`)
      await dateLock(memory, -HOUR_S)
    },
  ],
  [
    'a file in the place of the lock',
    async (memory) => {
      await givenFiles(memory, {})
      await writeFile(memory.lockPath, 'held')
      await dateLock(memory, -HOUR_S)
    },
  ],
]

async function dateLock({ lockPath }: TestMemory, seconds: number): Promise<void> {
  const then = Date.now() / 1000 + seconds
  await utimes(lockPath, then, then)
}

test.each(IS_FULL ? ORPHANS : ORPHANS.slice(1, 2))(
  `${CONTENDERS} processes find %s: all save, none passes over another, and the lock is gone at the end`,
  async (_name, makeOrphan) => {
    const memory = await testMemory()
    await makeOrphan(memory)
    const processes = Array.from({ length: CONTENDERS }, (_, number) =>
      startChanging(memory.home, 'saves', {
        count: 3,
        name: `c${number}`,
        lockTimes: { ...TIMES, staleMs: 3_000 },
      }),
    )
    const ends = await Promise.all(processes.map(({ ended }) => ended))
    for (const end of ends) expect(end).toMatchObject({ code: 0, errors: '' })
    await expectAllThere(
      memory,
      processes.flatMap((process) => keptKeys(process.said)),
    )
  },
  TIMEOUT_MS,
)
