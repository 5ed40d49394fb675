import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { FileSystem } from '../../src/store/file-system.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import type { ChangeScenario } from '../support/change-scenarios.ts'
import { CHANGES, GROUP, SAVES } from '../support/change-scenarios.ts'
import type { FileSystemCall } from '../support/faulty-file-system.mjs'
import { failMatching, watchFileSystem } from '../support/faulty-file-system.mjs'
import type { Contents } from '../support/left-behind.ts'
import {
  contentsOf,
  copyOf,
  expectMendable,
  expectNothingLost,
  expectUsable,
  fileAside,
  memoryIn,
  onLaterCopy,
} from '../support/left-behind.ts'
import type { CrashState, Tree } from '../support/power-cut.mjs'
import { crashStates, rebuild, recordFileSystem } from '../support/power-cut.mjs'
import { IS_FULL, counted, inBatches, printCount, sampleOf } from '../support/proof.ts'
import type { TestMemory } from '../support/test-memory.ts'
import { testMemory } from '../support/test-memory.ts'

/** States of one change that are opened on the disk in the short form; all are looked at. */
const SAMPLE = 60

/** Opened side by side; each has a folder of its own. */
const AT_ONCE = 8

const WHICH = IS_FULL ? 'every state' : `every state, ${SAMPLE} of them opened on the disk,`

const count = { states: 0, opened: 0, changes: 0, broken: 0 }

afterAll(() => {
  const opened = count.opened === count.states ? '' : ` (${counted(count.opened)} opened)`
  const states = `${counted(count.states)} states${opened} of ${count.changes} changes`
  printCount(`power-cut: ${states}, ${count.broken} broken`)
})

interface Proof extends Omit<ChangeScenario, 'act'> {
  act: (store: ProjectMemoryStore, memory: TestMemory, recorded: FileSystem) => Promise<unknown>
  /** Which flush of a directory fails, once. */
  failingFlush?: (path: string, memory: TestMemory) => boolean
}

const save = { key: 'Rule', content: 'new body', description: 'new hook' }

/** The first save fails at a flush, the second resolves: then nothing of it may hang on that flush. */
function saveAgain(name: string, failingFlush: NonNullable<Proof['failingFlush']>): Proof {
  return {
    name: `save, the first ever, again after the flush of ${name} had failed`,
    prepare: async () => {},
    act: async (store) => {
      await expect(store.save(save)).rejects.toThrow()
      await store.save(save)
    },
    failingFlush,
  }
}

/** Another process made the directories and was killed before it flushed them. */
const LEFT_DIRECTORIES: Proof = {
  name: 'save, into directories that a killed process had made',
  prepare: async ({ paths }) => {
    await mkdir(dirname(dirname(dirname(paths.root))))
  },
  act: async (store, { paths }, recorded) => {
    const project = dirname(paths.root)
    for (const path of [dirname(project), project, paths.root]) await recorded.mkdir(path)
    await store.save(save)
  },
}

const PROOFS: Proof[] = [
  LEFT_DIRECTORIES,
  saveAgain('the home', (path, { home }) => path === home),
  ...SAVES,
  GROUP,
  ...CHANGES,
  saveAgain(
    'the directory of all memories',
    (path, { paths }) => path === dirname(dirname(dirname(paths.root))),
  ),
  saveAgain(
    'the directory of projects',
    (path, { paths }) => path === dirname(dirname(paths.root)),
  ),
  saveAgain("the project's directory", (path, { paths }) => path === dirname(paths.root)),
  saveAgain('the memory directory', (path, { paths }) => path === paths.root),
]

interface Recorded {
  memory: TestMemory
  before: Contents
  after: Contents
  states: CrashState[]
}

async function record(proof: Proof): Promise<Recorded> {
  const memory = await testMemory()
  await proof.prepare(memory)
  const before = await contentsOf(memory)
  const isMeant = ({ name, path }: FileSystemCall): boolean =>
    name === 'handle.sync' && proof.failingFlush?.(path, memory) === true
  const { fileSystem: faulty } = watchFileSystem(failMatching(isMeant, 'EIO', 1))
  const { fileSystem, recording } = await recordFileSystem(memory.home, faulty)
  await proof.act(new ProjectMemoryStore(memory.paths, { fileSystem }), memory, fileSystem)
  const after = await contentsOf(memory)
  return { memory, before, after, states: crashStates(recording) }
}

/** What a person would find in a tree; throws when a copy in the trash is torn. */
function contentsOfTree(tree: Tree, { home, paths }: TestMemory): Contents {
  const root = `${relative(home, paths.root)}/`
  const found: Contents = { index: undefined, files: {}, copies: [], asides: [] }
  for (const [path, content] of tree) {
    if (!path.startsWith(root) || content === undefined) continue
    const name = path.slice(root.length)
    const text = content.toString('utf8')
    const aside = fileAside(name)
    if (aside !== undefined) found.asides.push(`${aside}: ${text}`)
    if (name === 'MEMORY.md') found.index = text
    else if (/^\.trash\/.*\.trash$/u.test(name)) found.copies.push(copyOf(text))
    else if (/^[^./][^/]*\.md$/u.test(name)) found.files[name] = text
  }
  found.copies.sort()
  return found
}

async function open({ tree }: CrashState, memory: TestMemory): Promise<void> {
  const home = await mkdtemp(`${memory.home}-cut-`)
  try {
    await rebuild(tree, home)
    const rebuilt = memoryIn(home)
    await onLaterCopy(rebuilt, expectMendable)
    await onLaterCopy(rebuilt, expectUsable)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

function describe({ tree, hasEnded }: CrashState): string {
  const paths = [...tree].map(([path, content]) =>
    content === undefined ? `${path}/` : `${path} ${content.length}`,
  )
  return `${hasEnded ? 'after the end' : 'before the end'}: ${paths.join(', ')}`
}

for (const proof of PROOFS) {
  test(
    `${proof.name}: ${WHICH} that a power cut may leave is whole and mendable, and has what had resolved`,
    async () => {
      const { memory, before, after, states } = await record(proof)
      expect(states.length).toBeGreaterThan(10)
      const opened = new Set(IS_FULL ? states : sampleOf(states, SAMPLE))
      const broken: string[] = []
      await inBatches(states, AT_ONCE, async (state) => {
        try {
          const present = contentsOfTree(state.tree, memory)
          expectNothingLost(proof, before, present, after)
          // Nothing hangs on when the name aside goes.
          if (state.hasEnded) expect({ ...present, asides: [] }).toEqual(after)
          if (opened.has(state)) await open(state, memory)
        } catch (error) {
          broken.push(`${describe(state)}: ${(error as Error).message}`)
        }
      })
      count.changes += 1
      count.states += states.length
      count.opened += opened.size
      count.broken += broken.length
      expect(broken).toEqual([])
    },
    IS_FULL ? 1_800_000 : 120_000,
  )
}
