/**
 * Cost of a save against the size of the index.
 *
 * Role: `benchSaveGrowth()` gives one row per size; run alone it prints them. Three sides take
 * turns on one disk: ours, the bare durable calls for the same bytes (no lock, no reading), and
 * `write-file-atomic` with `proper-lockfile` used naively. Needs a build.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProjectMemoryStore, resolveProjectMemoryPaths } from '../lib/store/index.js'
import {
  indexOf,
  naiveInput,
  onDisk,
  replaceDurably,
  saveInput,
  saveNaively,
  timeOf,
} from './durable.mjs'
import { isMainModule, median, percentile, printRows } from './report.mjs'

const SIZES = [0, 100, 1_000, 2_500, 5_000, 10_000]
const SIDES = ['ours', 'bare', 'naive']

/**
 * @param {{ sizes?: readonly number[], rounds?: number }} [options]
 * @returns {Promise<(import('./report.mjs').BenchRow & { growth: { lines: number,
 *   ours: number, bare: number, naive: number } })[]>} `growth` holds medians in ms.
 */
export function benchSaveGrowth({ sizes = SIZES, rounds = 41 } = {}) {
  return onDisk(async (base) => {
    const memories = []
    for (const lines of sizes) memories.push(await prepare(join(base, String(lines)), lines))
    // The first round pays for warming up: modules, compiled code, the search for litter. All
    // sizes take turns too, so that a disk that is busy for a while slows all of them.
    for (let round = 0; round <= rounds; round += 1) {
      for (const memory of memories) await measure(memory, round)
    }
    return memories.map(({ lines, times }) => toRow(lines, times))
  })
}

async function prepare(base, lines) {
  const paths = resolveProjectMemoryPaths('/bench', { DSH_HOME: join(base, 'ours') })
  const [bare, naive] = [join(base, 'bare'), join(base, 'naive')]
  for (const directory of [paths.root, bare, naive]) await mkdir(directory, { recursive: true })
  const store = new ProjectMemoryStore(paths)
  const index = Buffer.from(indexOf(lines))
  return { lines, paths, store, bare, naive, index, times: { ours: [], bare: [], naive: [] } }
}

async function measure({ paths, store, bare, naive, index, times }, round) {
  if (index.length > 0) await replaceDurably(paths.indexFilePath, index)
  if (index.length > 0) await replaceDurably(join(naive, 'MEMORY.md'), index)
  const ours = await timeOf(() => store.save(saveInput(round)))
  const written = await readFile(paths.indexFilePath)
  const file = Buffer.from(saveInput(round).content)
  const least = await timeOf(async () => {
    await replaceDurably(join(bare, 'memory.md'), file)
    await replaceDurably(join(bare, 'MEMORY.md'), written)
  })
  const usual = await timeOf(() => saveNaively(naive, naiveInput(round)))
  if (round === 0) return
  times.ours.push(ours)
  times.bare.push(least)
  times.naive.push(usual)
}

function toRow(lines, times) {
  const growth = Object.fromEntries(SIDES.map((side) => [side, median(times[side])]))
  const spread = SIDES.map(
    (side) =>
      `${side} p50 ${growth[side].toFixed(2)} ms, p95 ${percentile(times[side], 0.95).toFixed(2)} ms`,
  )
  const ratio = growth.ours / growth.bare
  return {
    name: `save with ${lines.toLocaleString('en-US')} index lines, over bare durable calls`,
    value: ratio,
    ratio,
    unit: 'x',
    detail: `${(growth.ours / growth.naive).toFixed(2)} x the naive save; ${spread.join('; ')}`,
    passed: true,
    growth: { lines, ...growth },
  }
}

if (isMainModule(import.meta.url)) printRows(await benchSaveGrowth())
