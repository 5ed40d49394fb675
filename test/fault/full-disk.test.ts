import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'
import { fileOf, linesOf, litterOf, snapshotOf } from '../support/test-memory.ts'
import type { TestMemory } from '../support/test-memory.ts'

/** Size of a page, the unit in which a file system in memory hands out space. */
const PAGE_BYTES = 4096

/** @returns why no small file system can be mounted here, or `undefined`. */
function whyNoMount(): string | undefined {
  if (process.platform !== 'linux') return 'not on Linux'
  if (process.getuid?.() !== 0) return 'not root'
  const directory = mkdtempSync(join(tmpdir(), 'project-memory-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory], {
      stdio: 'ignore',
    })
    execFileSync('umount', [directory])
    return undefined
  } catch {
    return 'mounting is not allowed'
  } finally {
    rmdirSync(directory)
  }
}

const reason = whyNoMount()

async function smallDisk(): Promise<TestMemory> {
  const home = join(await temporaryDirectory(), 'disk')
  await mkdir(home)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', home])
  onTestFinished(() => void execFileSync('umount', [home]))
  const paths = resolveProjectMemoryPaths('/work/app', { DSH_HOME: home })
  return { home, paths, store: new ProjectMemoryStore(paths), lockPath: `${paths.root}.lock` }
}

/** Fill the disk up to a number of free pages. */
async function fill({ home }: TestMemory, freePages: number): Promise<void> {
  for (let pages = 64; pages > 0; ) {
    try {
      await writeFile(join(home, `filler-${pages}`), Buffer.alloc(PAGE_BYTES), { flag: 'wx' })
      pages -= 1
    } catch {
      break
    }
  }
  const fillers = execFileSync('ls', [home], { encoding: 'utf8' }).split('\n')
  const removed = fillers.filter((name) => name.startsWith('filler-')).slice(0, freePages)
  for (const name of removed) await rm(join(home, name))
  await rm(join(home, 'filler-0'), { force: true })
}

async function empty({ home }: TestMemory): Promise<void> {
  execFileSync('sh', ['-c', 'rm -f "$1"/filler-*', 'sh', home])
}

test.skipIf(reason !== undefined)(
  `a disk that is full, up to some pages, leaves the old memory or the new one whole${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  async () => {
    const memory = await smallDisk()
    const { store } = memory
    const old = 'o'.repeat(3 * PAGE_BYTES)
    const index = Array.from(
      { length: 150 },
      (_, at) => `- [T${at}](t${at}.md) — some hook\n`,
    ).join('')
    await store.save({ key: 'rule', content: old, description: 'old' })
    await writeFile(memory.paths.indexFilePath, `${index}- [rule](rule.md) — old\n`)
    const before = await snapshotOf(memory)
    const outcomes = new Set<string>()
    for (let freePages = 0; freePages <= 12; freePages += 1) {
      await fill(memory, freePages)
      const content = `${freePages}`.repeat(2 * PAGE_BYTES)
      const error = await store.save({ key: 'rule', content, description: 'new' }).then(
        () => undefined,
        (failure: unknown) => failure,
      )
      outcomes.add(error === undefined ? 'saved' : 'refused')
      if (error === undefined) {
        expect(await fileOf(memory, 'rule.md')).toContain(content)
        expect((await linesOf(memory)).at(-1)).toBe('- [rule](rule.md) — new')
        await empty(memory)
        await store.save({ key: 'rule', content: old, description: 'old' })
      } else {
        expect(error).toMatchObject({ code: 'WRITE_FAILED', errno: 'ENOSPC' })
        expect((error as Error).message).toMatch(/^\/.*\.md cannot be written \(ENOSPC\)/u)
        expect((error as Error).message).not.toContain('\n')
      }
      expect(await litterOf(memory)).toEqual([])
      expect(await snapshotOf(memory)).toEqual(before)
    }
    expect(outcomes).toEqual(new Set(['saved', 'refused']))
    await empty(memory)
    await store.save({ key: 'other', content: 'c', description: 'd' })
    expect((await linesOf(memory)).at(-1)).toBe('- [other](other.md) — d')
  },
)
