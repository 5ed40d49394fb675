/**
 * Many sessions at once in one host: each saves and reads, over and over.
 *
 * Every call must succeed, what is on the disk at the end must be what the calls said, and the
 * memory of the host must not grow with the number of calls. The spread of the times is printed,
 * not judged.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scanIndexEntries } from '../../src/format/index.ts'
import { hostSupport } from '../support/host/index.mjs'
import { MemoryHost, memoryPaths, readAnswer, SAVE, shownIndex } from '../support/memory-host.ts'
import { counted, IS_FULL, printCount } from '../support/proof.ts'

const SESSIONS = IS_FULL ? 50 : 10
const LOAD_MS = IS_FULL ? 120_000 : 8_000
const TIMEOUT_MS = IS_FULL ? 900_000 : 180_000
/** Sessions share a few projects, and keys within one, so that files and lines are replaced too. */
const PROJECTS = 5
const KEYS = 20
/** Calls before the first look at the heap: modules, compiled code and caches are there by then. */
const WARM_UP_CALLS = 100
/** What the heap may hold more at the end than in the middle; a leak of a call is far above it. */
const FLAT_MIB = 8

/** What came of the load, measured inside the host. */
interface LoadResult {
  saves: number
  reads: number
  errors: string[]
  /** ms of each save call, sorted. */
  times: number[]
  /** MiB in use after a collection: after warming up, half-way, and at the end. */
  heap: number[]
}

/** Runs inside the host: a call goes through the host's own tool pipeline, as the model's does. */
async function loadHost(
  // biome-ignore lint/suspicious/noExplicitAny: the host's types are not here
  ctx: any,
  wanted: { sessions: string[]; ms: number; keys: number; warmUp: number; tool: string },
): Promise<LoadResult> {
  const result: LoadResult = { saves: 0, reads: 0, errors: [], times: [], heap: [] }
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--expose-gc')
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void
  const look = (): void => {
    collect()
    result.heap.push(process.memoryUsage().heapUsed / 2 ** 20)
  }
  let calls = 0
  const one = async (agent: unknown, session: number): Promise<void> => {
    calls += 1
    const args = {
      key: `Rule ${calls % wanted.keys}`,
      content: `Said by session ${session} in call ${calls}.`,
      description: `Call ${calls}`,
    }
    const started = performance.now()
    const answer = await ctx.tools.execute({
      callId: `load-${calls}`,
      name: wanted.tool,
      arguments: args,
      agent,
      signal: new AbortController().signal,
    })
    result.times.push(performance.now() - started)
    const [{ text }] = answer.content
    if (!answer.isError && JSON.parse(text).saved === true) result.saves += 1
    else result.errors.push(text)
    const assembly = await ctx.systemPrompt.assemble({ agent, scope: agent })
    const isThere = assembly.sections.some((section: { text: string }) =>
      section.text.includes(wanted.tool),
    )
    if (isThere) result.reads += 1
    else result.errors.push('the guidance was missing')
  }
  const agents = wanted.sessions.map((id) => ctx.agents.get(id))
  const runUntil = async (isOver: () => boolean): Promise<void> => {
    await Promise.all(
      agents.map(async (agent, session) => {
        do {
          await one(agent, session).catch((error) => result.errors.push(String(error)))
        } while (!isOver())
      }),
    )
  }
  await runUntil(() => calls >= wanted.warmUp)
  for (let half = 1; half <= 2; half += 1) {
    look()
    const end = performance.now() + wanted.ms / 2
    await runUntil(() => performance.now() >= end)
  }
  look()
  result.times.sort((a, b) => a - b)
  return result
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

describe.skipIf(!hostSupport().supported)('load', () => {
  test('sessions that save and read at the same time meet no error, lose nothing, and leak nothing', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const memory = await MemoryHost.start()
    onTestFinished(async () => void (await memory.stop()))
    const names = Array.from({ length: SESSIONS }, (_, at) => `load-${at % PROJECTS}`)
    const sessions: string[] = []
    for (const name of names) sessions.push(await memory.session(name))

    // Through the model first: every session in one turn at the same time.
    const turns = await Promise.all(
      sessions.map((session, at) =>
        memory.turn(session, {
          toolCalls: [{ name: SAVE, arguments: { key: `Turn ${at}`, content: `By ${at}.` } }],
        }),
      ),
    )
    for (const { toolCalls, reason } of turns) {
      expect(reason).toEqual({ kind: 'completed' })
      const [call] = toolCalls
      expect(readAnswer(call?.isError ?? true, call?.result ?? '').value).toMatchObject({
        saved: true,
      })
    }

    const result = await memory.host.evaluate(loadHost, {
      sessions,
      ms: LOAD_MS,
      keys: KEYS,
      warmUp: WARM_UP_CALLS,
      tool: SAVE,
    })
    const { saves, reads, errors, times, heap } = result
    const ms = (share: number): string => percentile(times, share).toFixed(0)
    printCount(
      `load: ${SESSIONS} sessions, ${counted(saves)} saves and ${counted(reads)} reads in ${LOAD_MS / 1_000} s, ${errors.length} errors; a save took ${ms(0.5)} ms (p50), ${ms(0.95)} ms (p95), ${ms(1)} ms (max); heap ${heap.map((size) => size.toFixed(1)).join(' -> ')} MiB`,
    )
    expect(errors.slice(0, 5)).toEqual([])
    expect(saves).toBeGreaterThan(SESSIONS)
    const [, middle = 0, end = 0] = heap
    expect(end - middle).toBeLessThan(FLAT_MIB)

    for (let at = 0; at < PROJECTS; at += 1) {
      const { root, indexFilePath } = memoryPaths(
        memory.home,
        await memory.home.project(`load-${at}`),
      )
      const entries = scanIndexEntries(await readFile(indexFilePath, 'utf8'))
      const listed = entries.map(({ fileName }) => fileName).sort()
      const files = (await readdir(root)).filter((name) => name !== 'MEMORY.md').sort()
      expect(listed).toEqual(files)
      for (const { fileName } of entries) {
        expect(await readFile(join(root, fileName), 'utf8')).toMatch(/(?:By|call) \d+\.\n$/)
      }
      const shown = shownIndex(await memory.freshRequest(`load-${at}`))
      for (const fileName of listed) expect(shown).toContain(`](${fileName})`)
    }
  })
})
