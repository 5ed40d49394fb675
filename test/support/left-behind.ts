import { cp, mkdtemp, readFile, readdir, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import type { ChangeScenario } from './change-scenarios.ts'
import type { TestMemory } from './test-memory.ts'
import { anotherStore, litterOf } from './test-memory.ts'

/** Everything that a person would miss, so that two states compare. */
export interface Contents {
  /** `undefined` without an index. */
  index: string | undefined
  /** Memory files by name. */
  files: Record<string, string>
  /** What can be had back: file name and text, sorted. */
  copies: string[]
  /** What stands aside, as `copies`. */
  asides: string[]
}

const TRASH_NAME = '.trash'

/** A memory below a home that is there already. */
export function memoryIn(home: string): TestMemory {
  const paths = resolveProjectMemoryPaths('/work/app', { DSH_HOME: home })
  const store = new ProjectMemoryStore(paths)
  return { home, paths, store, lockPath: `${paths.root}.lock` }
}

async function namesIn(directory: string): Promise<string[]> {
  const names: string[] = await readdir(directory).catch(() => [])
  return names.sort()
}

/** @returns a copy in the trash as {@link Contents} has it; throws when it is torn. */
export function copyOf(text: string): string {
  const end = text.indexOf('\n')
  const { fileName } = JSON.parse(text.slice(0, end)) as { fileName: string }
  return `${fileName}: ${text.slice(end + 1)}`
}

/** @returns which file stands aside under a name. */
export function fileAside(name: string): string | undefined {
  return /^\.(.+\.md)\.aside-[0-9a-f]{12}$/u.exec(name)?.[1]
}

export async function contentsOf({ paths }: TestMemory): Promise<Contents> {
  const files: Record<string, string> = {}
  const asides: string[] = []
  for (const name of await namesIn(paths.root)) {
    const aside = fileAside(name)
    if (aside !== undefined) {
      asides.push(`${aside}: ${await readFile(join(paths.root, name), 'utf8')}`)
    }
    if (!name.endsWith('.md') || name.startsWith('.') || name === 'MEMORY.md') continue
    files[name] = await readFile(join(paths.root, name), 'utf8')
  }
  const copies: string[] = []
  for (const name of await namesIn(join(paths.root, TRASH_NAME))) {
    if (!name.endsWith('.trash')) continue
    copies.push(copyOf(await readFile(join(paths.root, TRASH_NAME, name), 'utf8')))
  }
  const index = await readFile(paths.indexFilePath, 'utf8').catch(() => undefined)
  return { index, files, copies: copies.sort(), asides: asides.sort() }
}

/** @returns the files that an index names, found without the code under test. */
export function listedIn(index: string | undefined): string[] {
  return Array.from((index ?? '').matchAll(/\]\(([^()\s]+\.md)\)/gu), ([, name]) => name ?? '')
}

/** @returns temp files, locks, moved locks: whatever no change should leave. */
export async function litterIn(memory: TestMemory): Promise<string[]> {
  const inTrash = await namesIn(join(memory.paths.root, TRASH_NAME))
  return [
    ...(await litterOf(memory)).filter((name) => name !== TRASH_NAME),
    ...inTrash.filter((name) => !name.endsWith('.trash')),
  ]
}

/** Date what was left an hour back, as when the next session starts later. */
export async function ageLitter(memory: TestMemory): Promise<void> {
  const hourAgo = Date.now() / 1000 - 3_600
  const { root } = memory.paths
  for (const directory of [root, dirname(root), join(root, TRASH_NAME)]) {
    for (const name of await namesIn(directory)) {
      if (!/\.tmp-|^memory\.lock/u.test(name)) continue
      await utimes(join(directory, name), hourAgo, hourAgo)
    }
  }
}

/** A copy of a memory as a new process finds it later; the caller removes it. */
export async function laterCopyOf(memory: TestMemory): Promise<TestMemory> {
  const home = await mkdtemp(`${memory.home}-later-`)
  await cp(memory.home, home, { recursive: true, preserveTimestamps: true })
  const copy = memoryIn(home)
  await ageLitter(copy)
  return copy
}

/** Assert that doctor names every file without line and every line without file. */
export async function expectNamed(memory: TestMemory): Promise<void> {
  const { files, index } = await contentsOf(memory)
  const listed = new Set(listedIn(index))
  const findings = await anotherStore(memory).examine()
  const unlisted = Object.keys(files).filter((name) => !listed.has(name))
  const dangling = [...listed].filter((name) => files[name] === undefined)
  const named = new Set(findings.map(({ code, fileName, path }) => `${code} ${fileName ?? path}`))
  for (const name of unlisted) {
    const path = join(memory.paths.root, name)
    expect(
      [`unfinished-save ${path}`, `unfinished-forget ${path}`].some((one) => named.has(one)),
      name,
    ).toBe(true)
  }
  for (const name of dangling) {
    const isNamed = ['dangling-line', 'moved-aside'].some((code) => named.has(`${code} ${name}`))
    expect(isNamed, name).toBe(true)
  }
}

async function expectAgreement(memory: TestMemory): Promise<void> {
  const { files, index } = await contentsOf(memory)
  expect(listedIn(index).sort()).toEqual(Object.keys(files).sort())
}

/** Assert that doctor names what is wrong, its repair mends all of it, and a save works afterwards. */
export async function expectMendable(memory: TestMemory): Promise<void> {
  const store = anotherStore(memory)
  await expectNamed(memory)
  const findings = await store.examine()
  await store.repair(findings.filter(({ repair }) => repair !== undefined))
  expect(await store.examine()).toEqual([])
  await expectAgreement(memory)
  await store.save({ key: 'Afterwards', content: 'works' })
  await expectAgreement(memory)
  expect(await litterIn(memory)).toEqual([])
}

/** Assert that a save works at once and leaves nothing over. */
export async function expectUsable(memory: TestMemory): Promise<void> {
  await anotherStore(memory).save({ key: 'Afterwards', content: 'works' })
  const { files, index } = await contentsOf(memory)
  expect(files['afterwards.md']).toContain('works')
  expect(listedIn(index).filter((name) => name === 'afterwards.md')).toHaveLength(1)
  expect(await litterIn(memory)).toEqual([])
}

/** Assert that nothing is torn, and what was there before is there or has its copy. */
export function expectNothingLost(
  { isPurge, isStepwise }: Pick<ChangeScenario, 'isPurge' | 'isStepwise'>,
  before: Contents,
  present: Contents,
  after: Contents,
): void {
  for (const [name, text] of Object.entries(present.files)) {
    expect([before.files[name], after.files[name]]).toContain(text)
  }
  for (const [name, text] of Object.entries(before.files)) {
    const isKept = present.files[name] !== undefined || present.copies.includes(`${name}: ${text}`)
    if (isPurge !== true) expect(isKept, name).toBe(true)
  }
  for (const aside of before.asides) {
    const end = aside.indexOf(': ')
    const [name, text] = [aside.slice(0, end), aside.slice(end + 2)]
    const isKept = present.asides.includes(aside) || present.copies.includes(aside)
    expect(isKept || present.files[name] === text, aside).toBe(true)
  }
  for (const copy of before.copies) {
    const name = copy.slice(0, copy.indexOf(':'))
    if (isPurge === true) continue
    expect(present.copies.includes(copy) || present.files[name] !== undefined, copy).toBe(true)
  }
  if (isStepwise === true) {
    const possible = [...linesOf(before.index), ...linesOf(after.index)]
    for (const line of linesOf(present.index)) expect(possible).toContain(line)
  } else expect([before.index, after.index]).toContain(present.index)
}

function linesOf(index = ''): string[] {
  return index.split('\n')
}

/** Run a check on a later copy of a memory. */
export async function onLaterCopy(
  memory: TestMemory,
  check: (copy: TestMemory) => Promise<void>,
): Promise<void> {
  const copy = await laterCopyOf(memory)
  try {
    await check(copy)
  } finally {
    await rm(copy.home, { recursive: true, force: true })
  }
}
