/**
 * Cost of the two prompt providers at a model step, and of a session's start.
 *
 * Role: `benchProvider()` gives its rows; run alone it prints them. The baseline
 * of a call is a lookup in a WeakMap, of a start a plain `readFileSync` of the
 * same index. Needs a build.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainModule, median, printRows } from './report.mjs'
import { resolveConfig } from '../lib/config.js'
import { SessionMemory } from '../lib/session/session-memory.js'
import { resolveProjectMemoryPaths } from '../lib/store/paths.js'

const CALLS = 200_000
const ROUNDS = 15
const LINES = 200

/** @returns {Promise<import('./report.mjs').BenchRow[]>} */
export async function benchProvider() {
  const base = mkdtempSync(join(tmpdir(), 'bench-provider-'))
  try {
    const env = { DSH_HOME: join(base, 'home') }
    const paths = resolveProjectMemoryPaths(base, env)
    mkdirSync(paths.root, { recursive: true })
    const line = (index) => `- [Memory ${index}](memory-${index}.md) — ${'x'.repeat(80)}\n`
    writeFileSync(paths.indexFilePath, Array.from({ length: LINES }, (_, at) => line(at)).join(''))
    const memory = new SessionMemory({ config: resolveConfig({}), env, warn: console.warn })
    return [compareCalls(memory, base), compareStart(memory, base, paths.indexFilePath)]
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

function agentOf(cwd) {
  return { options: {}, session: { header: { cwd }, events: [], surface: { nodes: [] } } }
}

function compareCalls(memory, cwd) {
  const agent = agentOf(cwd)
  const map = new WeakMap([[agent.session, memory.indexText(agent)]])
  let length = 0
  const perCall = (call) => {
    const started = performance.now()
    for (let count = 0; count < CALLS; count += 1) length += call().length
    return ((performance.now() - started) * 1e6) / CALLS
  }
  const times = { ours: [], baseline: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.ours.push(perCall(() => memory.indexText(agent)))
    times.baseline.push(perCall(() => map.get(agent.session)))
  }
  if (length === 0) throw new Error('the provider gave no text')
  const [ours, baseline] = [median(times.ours), median(times.baseline)]
  return {
    name: 'provider call on a frozen index, over a WeakMap lookup',
    value: ours / baseline,
    unit: 'x',
    detail: `${ours.toFixed(0)} ns, baseline ${baseline.toFixed(0)} ns`,
    passed: true,
  }
}

function compareStart(memory, cwd, indexFilePath) {
  const times = { ours: [], baseline: [] }
  for (let round = 0; round < ROUNDS * 10; round += 1) {
    times.ours.push(timeOf(() => memory.indexText(agentOf(cwd))))
    times.baseline.push(timeOf(() => readFileSync(indexFilePath, 'utf8')))
  }
  const [ours, baseline] = [median(times.ours), median(times.baseline)]
  return {
    name: `session start with an index of ${LINES} lines, over readFileSync`,
    value: ours / baseline,
    unit: 'x',
    detail: `${ours.toFixed(3)} ms, baseline ${baseline.toFixed(3)} ms`,
    passed: true,
  }
}

function timeOf(call) {
  const started = performance.now()
  call()
  return performance.now() - started
}

if (isMainModule(import.meta.url)) printRows(await benchProvider())
