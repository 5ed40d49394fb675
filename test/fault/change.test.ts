import type { FileHandle } from 'node:fs/promises'
import { rm } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { MemoryError } from '../../src/errors.ts'
import type { Finding } from '../../src/store/doctor.ts'
import type { FileSystem } from '../../src/store/file-system.ts'
import type { ChangeScenario } from '../support/change-scenarios.ts'
import { CHANGES, GROUP, SAVES } from '../support/change-scenarios.ts'
import type { FileSystemCall, Hook } from '../support/faulty-file-system.mjs'
import { systemError, watchFileSystem } from '../support/faulty-file-system.mjs'
import type { Contents } from '../support/left-behind.ts'
import {
  contentsOf,
  expectMendable,
  expectNothingLost,
  expectUsable,
  litterIn,
  onLaterCopy,
} from '../support/left-behind.ts'
import { IS_FULL, counted, inBatches, printCount } from '../support/proof.ts'
import type { TestMemory } from '../support/test-memory.ts'
import { anotherStore, testMemory } from '../support/test-memory.ts'

const ERRNOS = IS_FULL
  ? ['EIO', 'ENOSPC', 'EACCES', 'EMFILE', 'EPERM', 'ESTALE']
  : ['EIO', 'EACCES']

/** Runs side by side; each has a memory of its own. */
const AT_ONCE = 8

const count = { points: 0, stops: 0, broken: 0 }

afterAll(() => {
  const points = `${counted(count.points)} failed calls and ${counted(count.stops)} ends`
  printCount(
    `fault: ${points} in ${SAVES.length + CHANGES.length + 1} changes, ${count.broken} broken`,
  )
})

interface Run {
  memory: TestMemory
  calls: FileSystemCall[]
  before: Contents
  /** `undefined` when the change resolved, `'ended'` when its process did. */
  error: unknown
  /** What the change resolved with. */
  value: unknown
  /** Gives back what an ended process would not hold any more. */
  dispose: () => Promise<void>
}

/** @param hookWith - makes the hook; `end` ends the process. */
async function runUnder(
  scenario: ChangeScenario,
  hookWith: (end: () => Promise<never>) => Hook,
): Promise<Run> {
  const watched = watchFileSystem()
  const handles: FileHandle[] = []
  const fileSystem: FileSystem = {
    ...watched.fileSystem,
    open: async (...args) => {
      const handle = await watched.fileSystem.open(...args)
      handles.push(handle)
      return handle
    },
  }
  const memory = await testMemory({ fileSystem })
  await scenario.prepare(memory)
  const before = await contentsOf(memory)
  const ended = new Promise<'ended'>((resolve) => {
    watched.before = hookWith(() => {
      resolve('ended')
      return new Promise<never>(() => {})
    })
  })
  const outcome = scenario.act(memory.store, memory).then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  )
  const atEnd = ended.then(() => ({ value: undefined, error: 'ended' }))
  const result = await Promise.race([outcome, atEnd])
  const dispose = async (): Promise<void> => {
    watched.before = () => {}
    await Promise.all(handles.map((handle) => handle.close().catch(() => undefined)))
    await rm(memory.home, { recursive: true, force: true })
  }
  return { memory, calls: [...watched.calls], before, ...result, dispose }
}

async function callsAndResultOf(scenario: ChangeScenario): Promise<[number, Contents]> {
  const { memory, calls, error } = await runUnder(scenario, () => () => {})
  expect(error).toBeUndefined()
  return [calls.length, await contentsOf(memory)]
}

function expectTruth(
  scenario: ChangeScenario,
  { before, error, memory }: Run,
  present: Contents,
  after: Contents,
): void {
  expectNothingLost(scenario, before, present, after)
  if (error === undefined) {
    if (scenario.isStepwise !== true) expect(present).toEqual(after)
    return
  }
  expect(error).toBeInstanceOf(MemoryError)
  const { message } = error as MemoryError
  expect(message).not.toMatch(/\n|injected/u)
  expect(message).toContain(memory.home)
  if (scenario.isStepwise === true) return
  const { copies: _, asides: _asides, ...presentMemory } = present
  const { copies: __, asides: _none, ...oldMemory } = before
  if (message.includes('its index line is gone')) {
    expect(present.index).toBe(after.index)
    expect(message.includes('its copy is in the trash')).toBe(present.copies.length > 0)
  } else if (/could not be put back|stands aside/u.test(message)) {
    // File and index disagree; `survive` sees that doctor names it.
    expect(present.index).toBe(before.index)
  } else if (message.includes('undo again to finish')) {
    expect([before.index, after.index]).toContain(present.index)
    expect(present.files).toEqual(after.files)
  } else if (message.includes('forget it again to finish')) {
    expect({ ...present, asides: [] }).toEqual({ ...before, files: after.files })
  } else if (message.includes('could not be confirmed')) {
    expect({ ...present, copies: [], asides: [] }).toEqual({ ...after, copies: [] })
  } else expect(presentMemory).toEqual(oldMemory)
}

/** What a repair says it has mended is no longer there. */
async function expectMended({ memory, value }: Run): Promise<void> {
  const keyOf = ({ code, fileName, path }: Finding) => `${code} ${path} ${fileName ?? ''}`
  const left = (await anotherStore(memory).examine()).map(keyOf)
  for (const finding of value as Finding[]) expect(left).not.toContain(keyOf(finding))
}

async function survive(
  scenario: ChangeScenario,
  run: Run,
  after: Contents,
  what: string,
): Promise<string | undefined> {
  try {
    const present = await contentsOf(run.memory)
    if (run.error === 'ended') expectNothingLost(scenario, run.before, present, after)
    else expectTruth(scenario, run, present, after)
    if (Array.isArray(run.value)) await expectMended(run)
    await onLaterCopy(run.memory, expectMendable)
    await onLaterCopy(run.memory, expectUsable)
    return undefined
  } catch (error) {
    count.broken += 1
    return `${what}: ${(error as Error).message}`
  } finally {
    await run.dispose()
  }
}

function describe(calls: readonly FileSystemCall[], position: number, home: string): string {
  const call = calls[position - 1]
  return `call ${position}, ${call?.name} ${call?.path.slice(home.length)}`
}

for (const scenario of [...SAVES, ...CHANGES]) {
  test.each(ERRNOS)(
    `${scenario.name}: whichever call fails with %s, the old or the new state is whole, the error says which, nothing is left over, and doctor mends the rest`,
    async (errno) => {
      const [calls, after] = await callsAndResultOf(scenario)
      expect(calls).toBeGreaterThan(20)
      const broken: string[] = []
      const positions = Array.from({ length: calls }, (_, at) => at + 1)
      await inBatches(positions, AT_ONCE, async (position) => {
        const run = await runUnder(scenario, () => (call) => {
          if (call.position === position) throw systemError(errno, call.name, call.path)
        })
        count.points += 1
        const what = `${errno} at ${describe(run.calls, position, run.memory.home)}`
        // What could not be removed is for the next change.
        const isRemoval = ['unlink', 'rmdir', 'rm'].includes(run.calls[position - 1]?.name ?? '')
        const litter = isRemoval || scenario.isStepwise === true ? [] : await litterIn(run.memory)
        if (litter.length > 0) broken.push(`${what}: left ${litter.join(', ')}`)
        broken.push((await survive(scenario, run, after, what)) ?? '')
      })
      expect(broken.filter((line) => line !== '')).toEqual([])
    },
    IS_FULL ? 600_000 : 120_000,
  )
}

for (const scenario of [...SAVES, GROUP, ...CHANGES]) {
  test.each(ERRNOS)(
    `${scenario.name}: whichever call is the first that fails with %s, all after it failing too, nothing is torn or lost, the error says so, and doctor mends the rest once the disk works`,
    async (errno) => {
      const [calls, after] = await callsAndResultOf(scenario)
      const broken: string[] = []
      const positions = Array.from({ length: calls }, (_, at) => at + 1)
      await inBatches(positions, AT_ONCE, async (position) => {
        const run = await runUnder(scenario, () => (call) => {
          if (call.position >= position) throw systemError(errno, call.name, call.path)
        })
        count.points += 1
        const what = `${errno} from ${describe(run.calls, position, run.memory.home)} on`
        broken.push((await survive(scenario, run, after, what)) ?? '')
      })
      expect(broken.filter((line) => line !== '')).toEqual([])
    },
    IS_FULL ? 600_000 : 120_000,
  )
}

for (const scenario of [...SAVES, GROUP, ...CHANGES]) {
  test(
    `${scenario.name}: wherever the process ends, nothing is torn or lost, and the next one can go on`,
    async () => {
      const [calls, after] = await callsAndResultOf(scenario)
      const broken: string[] = []
      const positions = Array.from({ length: calls }, (_, at) => at + 1)
      await inBatches(positions, AT_ONCE, async (position) => {
        const run = await runUnder(
          scenario,
          (end) => (call) => (call.position >= position ? end() : undefined),
        )
        count.stops += 1
        const what = `ended at ${describe(run.calls, position, run.memory.home)}`
        broken.push((await survive(scenario, run, after, what)) ?? '')
      })
      expect(broken.filter((line) => line !== '')).toEqual([])
    },
    IS_FULL ? 600_000 : 120_000,
  )
}
