/**
 * What a model step costs: the built plugin is asked for its texts as often as a long session does.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { FakeHost, plugin } from '../support/fake-host.ts'
import { testAgent } from '../support/session-agent.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

const STEPS = 10_000
/** A closure and a context object for each of two texts; one rendering of this index is over 20 KB. */
const MAX_BYTES_PER_STEP = 600

/** A mounted plugin in a session that was given an index of 150 lines. */
async function session(): Promise<{ step: () => number; firstStep: () => number }> {
  const folder = await temporaryDirectory()
  vi.stubEnv('DSH_HOME', join(folder, 'dsh'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const project = join(folder, 'project')
  await mkdir(project)
  const { indexFilePath, root } = resolveProjectMemoryPaths(project, {
    DSH_HOME: join(folder, 'dsh'),
  })
  await mkdir(root, { recursive: true })
  const lines = Array.from(
    { length: 150 },
    (_, at) => `- [Note ${at}](n${at}.md) — {{ about }} ${'x'.repeat(80)}\n`,
  )
  await writeFile(indexFilePath, lines.join(''))
  const host = new FakeHost()
  plugin.apply(host.context, {})
  const [section, context] = [...host.sections, ...host.contexts]
  const ask = (agent: ReturnType<typeof testAgent>): number =>
    (section?.text({ agent, scope: agent }).length ?? 0) +
    (context?.text({ agent, scope: agent }).length ?? 0)
  const agent = testAgent({ cwd: project })
  host.emit('agent/session-start', { agent })
  expect(ask(agent)).toBeGreaterThan(15_000)
  return { step: () => ask(agent), firstStep: () => ask(testAgent({ cwd: project })) }
}

/** Counts calls of `node:fs` functions while `work` runs. */
function callsOf(work: () => void): number {
  const modules = [fs, fs.promises] as unknown as Record<string, unknown>[]
  const restore: (() => void)[] = []
  let calls = 0
  for (const module of modules) {
    for (const [name, value] of Object.entries(module)) {
      // A class is called with new, which the wrapper would not survive.
      if (typeof value !== 'function' || /^[A-Z_]/.test(name)) continue
      restore.push(() => (module[name] = value))
      module[name] = function (this: unknown, ...args: unknown[]): unknown {
        calls += 1
        return Reflect.apply(value, this, args)
      }
    }
  }
  syncBuiltinESMExports()
  try {
    work()
  } finally {
    for (const undo of restore) undo()
    syncBuiltinESMExports()
  }
  return calls
}

test('a step calls no function of the file system, unlike the first one of a session', async () => {
  const { firstStep, step } = await session()
  const steps = callsOf(() => {
    for (let count = 0; count < 1000; count += 1) step()
  })
  expect(steps).toBe(0)
  expect(callsOf(firstStep)).toBeGreaterThan(0)
})

test('a step makes no garbage worth naming', async () => {
  const { step } = await session()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let count = 0; count < STEPS; count += 1) step()
  collect()
  const before = process.memoryUsage().heapUsed
  for (let count = 0; count < STEPS; count += 1) step()
  const bytes = process.memoryUsage().heapUsed - before
  expect(bytes / STEPS).toBeLessThan(MAX_BYTES_PER_STEP)
})
