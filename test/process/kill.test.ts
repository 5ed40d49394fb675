import { afterAll, expect, test } from 'vitest'
import { readMemoryHeader } from '../../src/format/memory-file.ts'
import type { Said, Step } from '../support/change-process.ts'
import { startChanging } from '../support/change-process.ts'
import {
  ageLitter,
  contentsOf,
  expectMendable,
  expectNamed,
  onLaterCopy,
} from '../support/left-behind.ts'
import { IS_FULL, counted, printCount, seededRandom } from '../support/proof.ts'
import type { TestMemory } from '../support/test-memory.ts'
import { anotherStore, testMemory } from '../support/test-memory.ts'

const KILLS = IS_FULL ? 500 : 40

/** Memories whose processes are killed side by side. */
const LANES = 4

/** A process is killed at a random moment of so long after its start, in ms. */
const LIFE_MS = 200

const count = { kills: 0, inChange: 0, resolved: 0, broken: 0 }

afterAll(() => {
  const kills = `${counted(count.kills)} SIGKILLs, ${counted(count.inChange)} of them within a change`
  printCount(
    `kill: ${kills}, ${counted(count.resolved)} changes had resolved, ${count.broken} broken`,
  )
})

/** Versions by key; a key that is not in it is no memory. */
type Versions = Record<string, number>

/** @returns the version that a memory file holds; throws when it is torn. */
function versionOf(text: string): number {
  const end = /\nend (\d+)\n*$/u.exec(text)
  const version = Number(end?.[1])
  const lines = text.split('\n').filter((line) => line === `version ${version}`)
  expect(lines, text.slice(0, 200)).toHaveLength(300)
  expect(readMemoryHeader(text).title).toBeDefined()
  return version
}

async function versionsOn(memory: TestMemory): Promise<Versions> {
  const { files } = await contentsOf(memory)
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name.slice(0, -'.md'.length), versionOf(text)]),
  )
}

/** What must be there after what has resolved, and the change that was under way. */
function follow(
  known: Versions,
  said: readonly Said[],
): { must: Versions; open: Step | undefined } {
  const must = { ...known }
  const trashed: Versions = {}
  let open: Step | undefined
  for (const { started, done, refused } of said) {
    if (started !== undefined) open = started
    if (refused !== undefined) open = undefined
    if (done === undefined) continue
    open = undefined
    const { kind, key, version } = done
    const present = must[key]
    if (kind === 'save') must[key] = version
    if (kind === 'forget') {
      if (present !== undefined) trashed[key] = present
      delete must[key]
    }
    // What an undo brings back from before this process is taken from the disk.
    if (kind === 'undo' && present === undefined) must[key] = trashed[key] ?? -1
  }
  return { must, open }
}

function expectOldOrNew(present: Versions, must: Versions, open: Step | undefined): void {
  for (const key of new Set([...Object.keys(present), ...Object.keys(must)])) {
    const isOpen = open?.key === key
    if (must[key] === -1 && present[key] !== undefined) continue
    const possible = [must[key]]
    if (isOpen && open.kind === 'save') possible.push(open.version)
    if (isOpen && (open.kind === 'forget' || open.kind === 'purge')) possible.push(undefined)
    if (isOpen && open.kind === 'undo' && must[key] === undefined) continue
    expect(possible, `${key}, during ${JSON.stringify(open)}`).toContain(present[key])
  }
}

/** Kill one process of a memory and look at what it left. @returns what is there, once mended. */
async function killOnce(
  memory: TestMemory,
  known: Versions,
  firstVersion: number,
  lifeMs: number,
): Promise<Versions> {
  const changing = startChanging(memory.home, 'churn', { firstVersion })
  await changing.says(({ started }) => started !== undefined)
  setTimeout(() => changing.child.kill('SIGKILL'), lifeMs)
  const { signal, errors } = await changing.ended
  expect({ signal, errors }).toEqual({ signal: 'SIGKILL', errors: '' })
  const { must, open } = follow(known, changing.said)
  count.kills += 1
  count.resolved += changing.said.filter(({ done }) => done !== undefined).length
  if (open !== undefined) count.inChange += 1
  // Taken back at the end: whatever throws on the way counts.
  count.broken += 1
  expectOldOrNew(await versionsOn(memory), must, open)
  await onLaterCopy(memory, expectMendable)
  await ageLitter(memory)
  await expectNamed(memory)
  const store = anotherStore(memory)
  await store.repair(await store.examine())
  expect(await store.examine()).toEqual([])
  const mended = await versionsOn(memory)
  expectOldOrNew(mended, must, open)
  count.broken -= 1
  return mended
}

test(`${KILLS} processes are killed at random moments of saving, forgetting and undoing: nothing that had resolved is lost, nothing is torn, and doctor mends the rest`, async () => {
  const lane = async (number: number): Promise<void> => {
    const random = seededRandom(number + 1)
    const memory = await testMemory()
    let known: Versions = {}
    for (let at = 0; at < KILLS / LANES; at += 1) {
      known = await killOnce(memory, known, at * 100_000, random() * LIFE_MS)
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)))
  expect(count.inChange).toBeGreaterThan(KILLS / 4)
}, 1_800_000)

const POINTS: [kind: Step['kind'], points: string[]][] = [
  [
    'save',
    [
      'the temp file',
      'the flush of the temp file',
      'the rename of the file',
      'the flush of the directory',
      'the rename of the index',
      'the removal of the lock',
    ],
  ],
  [
    'forget',
    [
      'the rename of the copy',
      'the rename of the index',
      'the removal of the file',
      'the removal of the file moved aside',
      'the flush of the directory',
      'the removal of the lock',
    ],
  ],
  [
    'purge',
    ['the removal of the file', 'the removal of the file moved aside', 'the rename of the index'],
  ],
  ['undo', ['the rename of the file', 'the rename of the index', 'the removal of the copy']],
]

test.each(POINTS)(
  'a process is killed at each named point of a %s: the old or the new version is there, and doctor mends the rest',
  async (kind, points) => {
    for (const point of points) {
      const memory = await testMemory()
      const first = startChanging(memory.home, 'saves', { count: 1, name: 'k' })
      expect(await first.ended).toMatchObject({ code: 0 })
      const known = await versionsOn(memory)
      if (kind === 'undo') await anotherStore(memory).forget({ key: 'k-0' })
      const step = { kind, key: 'k-0', version: 7 }
      const changing = startChanging(memory.home, 'point', { point, signal: 'SIGKILL', step })
      expect(await changing.ended, point).toMatchObject({ signal: 'SIGKILL', errors: '' })
      count.kills += 1
      count.inChange += 1
      count.broken += 1
      const must = kind === 'undo' ? {} : known
      expectOldOrNew(await versionsOn(memory), must, step)
      await onLaterCopy(memory, expectMendable)
      const trashed = await anotherStore(memory).listTrash()
      const { files } = await contentsOf(memory)
      const isKept = files['k-0.md'] !== undefined || trashed.length > 0
      const isBeforePurge = point === 'the removal of the file'
      expect(isKept || (kind === 'purge' && !isBeforePurge), point).toBe(true)
      count.broken -= 1
    }
  },
  300_000,
)
