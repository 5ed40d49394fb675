/**
 * Cost of the two prompt providers at a model step, and of a session's start.
 *
 * Role: `benchProvider()` gives its rows; run alone it prints them. The baseline
 * of a call is a lookup in a WeakMap, of a start a plain `readFileSync` of the
 * same index; a start is measured with an index that just fits the limit of
 * lines, and with one that just fits the limit of characters. Needs a build.
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
const CHARACTERS = 25_000

/**
 * @param {{ rounds?: number }} [options]
 * @returns {Promise<import('./report.mjs').BenchRow[]>}
 */
export async function benchProvider({ rounds = ROUNDS } = {}) {
  const base = mkdtempSync(join(tmpdir(), 'bench-provider-'))
  try {
    const env = { DSH_HOME: join(base, 'home') }
    const memory = new SessionMemory({ config: resolveConfig({}), env, warn: console.warn })
    const given = (name, index) => {
      const cwd = join(base, name)
      const { indexFilePath, root } = resolveProjectMemoryPaths(cwd, env)
      mkdirSync(root, { recursive: true })
      writeFileSync(indexFilePath, index)
      return { cwd, indexFilePath }
    }
    const byLines = given('lines', linesOf(LINES, 80))
    const longLines = linesOf(LINES, Math.floor(CHARACTERS / LINES) - 33)
    const byCharacters = given('characters', longLines.slice(0, CHARACTERS))
    return [
      compareCalls(memory, byLines.cwd, rounds),
      compareStart(memory, byLines, `${LINES} lines`, rounds),
      compareStart(memory, byCharacters, `${longLines.length} characters`, rounds),
    ]
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

/** Lines of one length, hooks of so many characters. */
function linesOf(count, hookLength) {
  const number = (index) => String(index).padStart(3, '0')
  return Array.from(
    { length: count },
    (_, at) => `- [Memory ${number(at)}](memory-${number(at)}.md) — ${'x'.repeat(hookLength)}\n`,
  ).join('')
}

function agentOf(cwd) {
  return { options: {}, session: { header: { cwd }, events: [], surface: { nodes: [] } } }
}

function compareCalls(memory, cwd, rounds) {
  const agent = agentOf(cwd)
  const map = new WeakMap([[agent.session, memory.indexText(agent)]])
  let length = 0
  const perCall = (call) => {
    const started = performance.now()
    for (let count = 0; count < CALLS; count += 1) length += call().length
    return ((performance.now() - started) * 1e6) / CALLS
  }
  const times = { ours: [], baseline: [] }
  for (let round = 0; round < rounds; round += 1) {
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

function compareStart(memory, { cwd, indexFilePath }, size, rounds) {
  const times = { ours: [], baseline: [] }
  for (let round = 0; round < rounds * 10; round += 1) {
    times.ours.push(timeOf(() => memory.indexText(agentOf(cwd))))
    times.baseline.push(timeOf(() => readFileSync(indexFilePath, 'utf8')))
  }
  const [ours, baseline] = [median(times.ours), median(times.baseline)]
  return {
    name: `session start with an index of ${size}, over readFileSync`,
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
