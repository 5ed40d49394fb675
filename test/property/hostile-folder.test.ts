/**
 * A memory folder full of surprises: starting a session, scanning and saving crash nothing, hold
 * the process for no second, and lose no byte that is not their own.
 */
import { constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { resolveConfig } from '../../src/config.ts'
import { MemoryError } from '../../src/errors.ts'
import { isWellFormedText, utf8BytesCodec } from '../../src/format/index.ts'
import type { SessionAgent } from '../../src/session/session-kind.ts'
import { SessionMemory } from '../../src/session/session-memory.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import { formatMemoryManifest, scanMemoryManifest } from '../../src/subsystems/manifest/index.ts'
import { FUZZ_TIMEOUT_MS, FuzzMeter, fuzzRuns, lacking, without } from '../support/fuzz-meter.ts'
import { type HostileWorld, hostileWorld, SECRET } from '../support/hostile-world.ts'
import { IS_FULL } from '../support/proof.ts'
import { hostileBytes, hostileFolder, hostileSave, SPECIAL_FOLDERS } from './hostile-arbitraries.ts'

const MANY_FILES = IS_FULL ? 10_000 : 2_000
const INDEX_CHARACTERS = 25_000
const meter = new FuzzMeter()

afterAll(() => meter.print())

/** A session with as little of a host as the memory needs. */
function agentIn(cwd: string): SessionAgent {
  const session = { header: { cwd }, events: [], surface: { nodes: [] } }
  return { options: {}, session } as unknown as SessionAgent
}

function checkInject(world: HostileWorld, overflow: 'head' | 'recent'): void {
  const warnings: string[] = []
  const memory = new SessionMemory({
    config: resolveConfig({ overflow }),
    env: { DSH_HOME: world.home },
    warn: (message) => void warnings.push(message),
  })
  const agent = agentIn(world.cwd)
  const text = meter.quick('INJECT', () => memory.indexText(agent))
  expect(memory.guidanceText(agent)).not.toBe('')
  expect(isWellFormedText(text)).toBe(true)
  expect(text.length).toBeLessThan(INDEX_CHARACTERS * 2)
  expect(text).not.toContain(SECRET)
  expect(memory.indexText(agent)).toBe(text)
  expect(warnings.length).toBeLessThanOrEqual(2)
}

test('a session in any folder starts with an index, or one line that says why not, and changes nothing', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await hostileWorld()
  fc.assert(
    fc.property(hostileFolder, fc.constantFrom('head', 'recent'), (folder, overflow) => {
      // A second name of a file is a secret only behind a link.
      world.build(new Map([...folder].filter(([, item]) => item.kind !== 'hardlink')))
      const before = world.snapshot()
      checkInject(world, overflow)
      expect(world.snapshot()).toStrictEqual(before)
    }),
    {
      numRuns: fuzzRuns(250),
      examples: SPECIAL_FOLDERS.map((folder) => [folder, 'recent']),
    },
  )
})

async function checkScan(world: HostileWorld): Promise<void> {
  const { entries, text } = await meter.quickly('SCAN', async () => {
    const found = await scanMemoryManifest({ rootDir: world.paths.root })
    return { entries: found, text: formatMemoryManifest(found) }
  })
  expect(text.split(/[\n\r\u2028\u2029]/)).toHaveLength(Math.max(1, entries.length))
  expect(text).not.toContain(SECRET)
}

test('a scan of any folder lists what can be listed, shows nothing from elsewhere and changes nothing', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await hostileWorld()
  await fc.assert(
    fc.asyncProperty(hostileFolder, async (folder) => {
      world.build(new Map([...folder].filter(([, item]) => item.kind !== 'hardlink')))
      const before = world.snapshot()
      await checkScan(world)
      expect(world.snapshot()).toStrictEqual(before)
    }),
    {
      numRuns: fuzzRuns(250),
      examples: SPECIAL_FOLDERS.map((folder) => [folder]),
    },
  )
})

/** One save; what was there before is there after it, but for the memory's own file and line. */
async function checkSave(
  world: HostileWorld,
  input: { key: string; content: string; description: string },
): Promise<void> {
  const { paths } = world
  const store = new ProjectMemoryStore(paths)
  const before = world.snapshot()
  const indexBefore = before.has('MEMORY.md') ? (before.get('MEMORY.md') ?? '') : ''
  const saved = await meter.quickly('SAVE', () =>
    store.save(input).catch((error: unknown) => error),
  )
  if (!('fileName' in Object(saved))) {
    expect(saved).toBeInstanceOf(MemoryError)
    expect(world.snapshot()).toStrictEqual(before)
    return
  }
  const { fileName: name, replaced } = saved as { fileName: string; replaced: boolean }
  const own = new Set(['MEMORY.md', name])
  const others = new Map([...before].filter(([path]) => !own.has(path)))
  expect(world.snapshot(own)).toStrictEqual(others)
  expect(replaced).toBe(before.has(name))
  for (const path of own) {
    const mode = before.get(path)?.split(' ', 1)[0] ?? constants.S_IFREG
    expect(Number(mode) & constants.S_IFMT, path).toBe(constants.S_IFREG)
  }
  expect(readFileSync(join(paths.root, name), 'utf8')).toMatch(/\n\n[cx]/)
  const index = readFileSync(paths.indexFilePath, 'latin1')
  const old = indexBefore.slice(indexBefore.split(' ', 4).join(' ').length + 1)
  expect(lacking(without(old, [name], utf8BytesCodec), index)).toBe(0)
}

test('a save into any folder succeeds or says why not, and every other byte is as it was', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await hostileWorld()
  await fc.assert(
    fc.asyncProperty(hostileFolder, hostileSave, async (folder, input) => {
      world.build(folder)
      await checkSave(world, input)
    }),
    {
      numRuns: fuzzRuns(250),
      examples: SPECIAL_FOLDERS.map((folder) => [
        folder,
        { key: 'Rule', content: 'c', description: 'd' },
      ]),
    },
  )
})

test('a folder of thousands of files and an index of thousands of lines is read and written', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await hostileWorld()
  const bytes = fc.sample(hostileBytes, { numRuns: 50, seed: 7 })
  const names = Array.from({ length: MANY_FILES }, (_, at) => `file-${at}.md`)
  const folder = new Map(
    names.map((name, at) => [
      name,
      at % 50 === 49
        ? ({ kind: 'fifo' } as const)
        : ({ kind: 'file', bytes: bytes[at % 50] ?? Buffer.alloc(0) } as const),
    ]),
  )
  const lines = names.map((name, at) => `- [File ${at}](${name}) — hook ${at}\n`).join('')
  world.build(new Map([...folder, ['MEMORY.md', { kind: 'file', bytes: Buffer.from(lines) }]]))
  checkInject(world, 'recent')
  checkInject(world, 'head')
  await checkScan(world)
  await checkSave(world, { key: 'Rule', content: 'c', description: 'd' })
  await checkSave(world, { key: 'file 3', content: 'c', description: 'd' })
})
