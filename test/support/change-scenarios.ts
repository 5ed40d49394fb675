/** Changes of a memory and what they start from, for the proofs that interrupt them. */
import { chmod, mkdir, rename, utimes } from 'node:fs/promises'
import { MemoryError } from '../../src/errors.ts'
import type { ProjectMemoryStore } from '../../src/store/store.ts'
import type { TestMemory } from './test-memory.ts'
import { anotherStore, givenFiles } from './test-memory.ts'

/** One change. */
export interface ChangeScenario {
  name: string
  /** Puts what the change starts from on the disk. */
  prepare: (memory: TestMemory) => Promise<void>
  /** The change; `store` goes through the file system of the proof. */
  act: (store: ProjectMemoryStore, memory: TestMemory) => Promise<unknown>
  /** Whether a change that fails half-way keeps what it has done so far. */
  isStepwise?: boolean
  /** Whether the memory may be gone without a copy. */
  isPurge?: boolean
}

const RULE =
  '---\nname: "rule"\ndescription: "old hook"\nmetadata:\n  type: project\n  node_type: memory\n  title: "Rule"\n---\n\nold body\n'

const THREE = {
  'MEMORY.md':
    '# Notes\n\n- [Other](other.md) — stays\n- [Rule](rule.md) — old hook\n- [Last](last.md) — stays too\n\nfree text\n',
  'other.md': 'other body\n',
  'rule.md': RULE,
  'last.md': 'last body\n',
}

const save = { key: 'Rule', content: 'new body', description: 'new hook' }

async function three(memory: TestMemory): Promise<void> {
  await givenFiles(memory, THREE)
}

/** An older copy of the same memory is in the trash. */
async function threeWithCopy(memory: TestMemory): Promise<void> {
  await three(memory)
  await anotherStore(memory).forget({ fileName: 'rule.md' })
  await givenFiles(memory, THREE)
}

async function forgotten(memory: TestMemory): Promise<void> {
  await three(memory)
  await anotherStore(memory).forget({ fileName: 'rule.md' })
}

/** One of everything that doctor mends. */
async function damaged(memory: TestMemory): Promise<void> {
  await three(memory)
  await anotherStore(memory).forget({ fileName: 'rule.md' })
  await givenFiles(memory, {
    'MEMORY.md':
      '- [Other](other.md) — stays\n- [Gone](gone.md) — dangling\n\n- [Other](other.md) — again\n- [Last](last.md) — stays\n',
    'rule.md': RULE,
    'lost.md': 'a save to finish\n',
    '.lost.md.tmp-0123456789abcdef01234567': 'half',
  })
  await chmod(`${memory.paths.root}/last.md`, 0o666)
  const hourAgo = Date.now() / 1000 - 3_600
  for (const path of [memory.lockPath, `${memory.lockPath}.orphan-0123456789abcdef`]) {
    await mkdir(path)
    await utimes(path, hourAgo, hourAgo)
  }
}

export const SAVES: ChangeScenario[] = [
  { name: 'save, the first ever', prepare: async () => {}, act: (store) => store.save(save) },
  {
    name: 'save, new',
    prepare: (memory) =>
      givenFiles(memory, {
        'MEMORY.md': THREE['MEMORY.md'].replace(/- \[Rule.*\n/u, ''),
        'other.md': 'other body\n',
        'last.md': 'last body\n',
      }),
    act: (store) => store.save(save),
  },
  { name: 'save, replacing', prepare: three, act: (store) => store.save(save) },
]

export const GROUP: ChangeScenario = {
  name: 'three saves together',
  prepare: three,
  act: async (store) => {
    const outcomes = await Promise.allSettled([
      store.save(save),
      store.save({ key: 'Second', content: 'second body' }),
      store.save({ key: 'Third', content: 'third body' }),
    ])
    const errors = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as MemoryError] : [],
    )
    const [first] = errors
    if (first === undefined) return
    throw new MemoryError(first.code, errors.map(({ message }) => message).join('; '))
  },
}

export const CHANGES: ChangeScenario[] = [
  { name: 'forget', prepare: three, act: (store) => store.forget({ fileName: 'rule.md' }) },
  {
    name: 'forget, purge',
    prepare: threeWithCopy,
    act: (store) => store.forget({ key: 'Rule', purge: true }),
    isPurge: true,
  },
  {
    name: 'a removal that keeps the line',
    prepare: three,
    act: (store) => store.removeFile({ fileName: 'rule.md' }),
  },
  { name: 'undo', prepare: forgotten, act: (store) => store.undo() },
  {
    name: 'save, new, beside the only copy of another memory that stands aside',
    prepare: async (memory) => {
      await three(memory)
      const { root } = memory.paths
      await rename(`${root}/rule.md`, `${root}/.rule.md.aside-0123456789ab`)
    },
    act: (store) => store.save({ key: 'Second', content: 'second body' }),
    // The other memory is put back, whether or not the save succeeds.
    isStepwise: true,
  },
  {
    name: 'doctor fix',
    prepare: damaged,
    act: async (store, memory) => store.repair(await anotherStore(memory).examine()),
    isStepwise: true,
  },
]
