import { expect, test } from 'vitest'
import { MemoryError } from '../../src/errors.ts'
import { failNth, watchFileSystem } from '../support/faulty-file-system.mjs'
import type { FileSystemCall, Hook } from '../support/faulty-file-system.mjs'
import type { TestMemory } from '../support/test-memory.ts'
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

const ERRNOS = ['EIO', 'ENOSPC', 'EACCES', 'EMFILE', 'EPERM']

/** Runs side by side; each has a memory of its own. */
const AT_ONCE = 8

const OLD_INDEX =
  '# Notes\n\n- [Other](other.md) — stays\n- [Rule](rule.md) — old hook\n\nfree text\n'
const OLD_FILE =
  '---\nname: "rule"\ndescription: "old hook"\nmetadata:\n  type: project\n  node_type: memory\n  title: "Rule"\n---\n\nold body\n'

interface Scenario {
  name: string
  prepare: (memory: TestMemory) => Promise<void>
}

const SCENARIOS: Scenario[] = [
  { name: 'the first memory', prepare: async () => {} },
  {
    name: 'a new memory beside others',
    prepare: (memory) => givenFiles(memory, { 'MEMORY.md': '- [Other](other.md) — stays\n' }),
  },
  {
    name: 'a replacement',
    prepare: (memory) => givenFiles(memory, { 'MEMORY.md': OLD_INDEX, 'rule.md': OLD_FILE }),
  },
]

const INPUT = { key: 'Rule', content: 'new body', description: 'new hook' }

interface Outcome {
  memory: TestMemory
  calls: FileSystemCall[]
  before: Record<string, string>
  error: unknown
}

async function saveUnder(scenario: Scenario, hook: Hook): Promise<Outcome> {
  const watched = watchFileSystem(hook)
  const memory = await testMemory({ fileSystem: watched.fileSystem })
  await scenario.prepare(memory)
  const before = await snapshotOf(memory)
  const error = await memory.store.save(INPUT).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return { memory, calls: watched.calls, before, error }
}

async function expectWhole({ memory, before, error }: Outcome, isRemovalFault: boolean) {
  const { store: _, ...place } = memory
  const after = await snapshotOf(memory)
  const isNew = after['rule.md']?.includes('new body') === true
  if (error === undefined) expect(isNew).toBe(true)
  else if (!isNew) expect(withoutLitter(after)).toEqual(before)
  if (isNew) {
    const lines = (await linesOf(memory)).filter((line) => line.includes('(rule.md)'))
    expect(lines).toEqual(['- [Rule](rule.md) — new hook'])
    if (error !== undefined) expect((error as Error).message).toMatch(/the memory was written/u)
  }
  if (error !== undefined) {
    expect(error).toBeInstanceOf(MemoryError)
    expect((error as Error).message).not.toMatch(/\n|new body|injected/u)
    expect((error as Error).message).toContain(place.home)
  }
  if (!isRemovalFault) expect(await litterOf(memory)).toEqual([])
}

function withoutLitter(snapshot: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => name.endsWith('.md')))
}

async function expectSurvival(scenario: Scenario, position: number, errno: string): Promise<void> {
  const outcome = await saveUnder(scenario, failNth(position, errno))
  const failed = outcome.calls[position - 1]
  const isRemovalFault = ['unlink', 'rmdir', 'rm'].includes(failed?.name ?? '')
  try {
    await expectWhole(outcome, isRemovalFault)
    await anotherStore(outcome.memory).save({ ...INPUT, content: 'third body' })
    expect(await fileOf(outcome.memory, 'rule.md')).toContain('third body')
    expect(await memoryFilesOf(outcome.memory)).toEqual(['rule.md'])
    expect((await indexOf(outcome.memory)).match(/\(rule\.md\)/gu)).toHaveLength(1)
    expect(await litterOf(outcome.memory)).toEqual([])
  } catch (error) {
    const where = `${errno} at call ${position}, ${failed?.name} ${failed?.path}`
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error })
  }
}

for (const scenario of SCENARIOS) {
  for (const errno of ERRNOS) {
    test(`${scenario.name}: whichever call fails with ${errno}, the old or the new state is whole, nothing is left over, and the next save works`, async () => {
      const { calls } = await saveUnder(scenario, () => {})
      expect(calls.length).toBeGreaterThan(30)
      const positions = calls.map((call) => call.position)
      while (positions.length > 0) {
        const batch = positions.splice(0, AT_ONCE)
        await Promise.all(batch.map((position) => expectSurvival(scenario, position, errno)))
      }
    })
  }
}
