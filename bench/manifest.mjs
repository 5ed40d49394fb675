/**
 * Cost of a manifest scan against reading every file.
 *
 * Role: `benchManifest()` gives one row per measurement; run alone it prints them and
 * exits with 1 when a limit is exceeded. Baseline: `readdir`, then `open`, a read of
 * 4 KiB and `close` of every file, `fs.promises`, 16 at a time, same process. Needs a
 * build. Memory, open files and the loading of YAML are measured in child processes.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, open, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { scanMemoryManifest } from 'dsh-zcode-project-memory/subsystems/manifest'
import { isMainModule, median, printRows } from './report.mjs'

const PARALLEL = 16
/** Files, limit of the time over the baseline, rounds of which the median counts. */
const FOLDERS = [
  [200, 3.0, 21],
  [2_000, 1.0, 9],
  [10_000, 0.5, 7],
]
const HOLD_LIMIT_MS = 20
const MEMORY_LIMIT_MIB = 40
const OPEN_FILE_LIMIT = 256
const TIMER_SETTLE_MS = 5
const FIRST_MTIME_S = 1_700_000_000

const run = promisify(execFile)
const self = fileURLToPath(import.meta.url)

/** @returns {Promise<import('./report.mjs').BenchRow[]>} rows in the order to print. */
export async function benchManifest() {
  const base = await mkdtemp(join(tmpdir(), 'bench-manifest-'))
  try {
    const rows = []
    for (const [count, limit, rounds] of FOLDERS) {
      const folder = join(base, String(count))
      await makeFolder(folder, count)
      rows.push(
        await compareTime(folder, count, limit, rounds),
        await compareHold(folder, count, rounds),
      )
    }
    const crowded = join(base, 'crowded')
    await makeFolder(crowded, 5_000)
    rows.push(
      await measureMemory(join(base, '10000')),
      await scanWithFewOpenFiles(crowded),
      await measureYamlLoading(base),
    )
    return rows
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

async function compareTime(folder, count, limit, rounds) {
  const scan = () => scanMemoryManifest({ rootDir: folder })
  const baseline = () => readEverything(folder)
  await scan()
  await baseline()
  const times = { scan: [], baseline: [] }
  for (let round = 0; round < rounds; round += 1) {
    times.scan.push(await timeOf(scan))
    times.baseline.push(await timeOf(baseline))
  }
  const [scanMs, baselineMs] = [median(times.scan), median(times.baseline)]
  const ratio = scanMs / baselineMs
  return {
    name: `manifest scan of ${count} files, time over baseline`,
    value: ratio,
    ratio,
    unit: 'x',
    limit,
    detail: `${scanMs.toFixed(1)} ms, baseline ${baselineMs.toFixed(1)} ms`,
    passed: ratio <= limit,
  }
}

async function compareHold(folder, count, rounds) {
  const scanMs = await longestHold(() => scanMemoryManifest({ rootDir: folder }), rounds)
  const baselineMs = await longestHold(() => readEverything(folder), rounds)
  const limit = Math.max(HOLD_LIMIT_MS, 2 * baselineMs)
  return {
    name: `manifest scan of ${count} files, longest hold of the event loop`,
    value: scanMs,
    ratio: scanMs / limit,
    unit: 'ms',
    limit,
    detail: `baseline ${baselineMs.toFixed(1)} ms`,
    passed: scanMs <= limit,
  }
}

async function measureMemory(folder) {
  const bare = await child(['bare'])
  const peak = await child(['memory', folder])
  const value = (peak.maxRssKib - bare.maxRssKib) / 1024
  return {
    name: 'manifest scan of 10000 files, peak memory over a bare process',
    value,
    ratio: value / MEMORY_LIMIT_MIB,
    unit: 'MiB',
    limit: MEMORY_LIMIT_MIB,
    detail: `bare ${(bare.maxRssKib / 1024).toFixed(1)} MiB`,
    passed: value <= MEMORY_LIMIT_MIB,
  }
}

async function scanWithFewOpenFiles(folder) {
  const script = `ulimit -n ${OPEN_FILE_LIMIT}; exec "$@"`
  const { stdout } = await run('sh', ['-c', script, 'sh', process.execPath, self, 'names', folder])
  const names = JSON.parse(stdout)
  const wanted = Array.from({ length: 200 }, (_, index) => fileName(4_999 - index))
  const isExact = JSON.stringify(names) === JSON.stringify(wanted)
  return {
    name: `manifest scan of 5000 files with ${OPEN_FILE_LIMIT} open files allowed`,
    value: names.length,
    unit: 'newest',
    limit: 200,
    detail: isExact ? 'exactly the newest' : 'not the newest',
    passed: isExact,
  }
}

async function measureYamlLoading(base) {
  const folder = join(base, 'yaml')
  await mkdir(folder)
  await writeFile(join(folder, 'a.md'), '---\ndescription: plain text\n---\nbody\n')
  const { holdMs } = await child(['yaml', folder])
  return {
    name: 'manifest, one-time loading of the YAML parser',
    value: holdMs,
    unit: 'ms',
    detail: 'longest hold of the first scan that needs it, no limit',
    passed: true,
  }
}

async function child(args) {
  const { stdout } = await run(process.execPath, [self, ...args])
  return JSON.parse(stdout)
}

/** File `index` is one second newer than the one before. */
async function makeFolder(folder, count) {
  await mkdir(folder)
  await eachOf(Array.from({ length: count }).keys(), async (index) => {
    const path = join(folder, fileName(index))
    await writeFile(path, memoryFile(index))
    await utimes(path, FIRST_MTIME_S + index, FIRST_MTIME_S + index)
  })
}

function fileName(index) {
  return `topic-${String(index).padStart(5, '0')}.md`
}

function memoryFile(index) {
  return `---
name: "topic-${String(index).padStart(5, '0')}"
description: "What was learnt about part ${index}: \\"always\\" build it twice."
metadata:
  type: project
  node_type: memory
  title: "Topic ${index}"
  originSessionId: "session-${index}"
---

${'One more sentence about this part of the project.\n'.repeat(1 + (index % 40))}`
}

async function readEverything(folder) {
  const names = await readdir(folder)
  await eachOf(names.values(), async (name) => {
    const handle = await open(join(folder, name))
    await handle.read(Buffer.allocUnsafe(4096), 0, 4096, 0)
    await handle.close()
  })
}

/** Workers share the iterator. */
async function eachOf(items, task) {
  const worker = async () => {
    for (const item of items) await task(item)
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
}

async function timeOf(task) {
  const start = performance.now()
  await task()
  return performance.now() - start
}

/** Median over the rounds of the longest time between two turns of the event loop. */
async function longestHold(task, rounds) {
  const holds = []
  for (let round = 0; round < rounds; round += 1) {
    holds.push(await holdOf(task))
  }
  return median(holds)
}

async function holdOf(task) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await setTimeout(TIMER_SETTLE_MS)
  delay.reset()
  await task()
  // The monitor notes a hold at its next tick.
  await setTimeout(TIMER_SETTLE_MS)
  delay.disable()
  return Number.isFinite(delay.max) ? delay.max / 1e6 : 0
}

const commands = {
  bare: async () => ({ maxRssKib: process.resourceUsage().maxRSS }),
  memory: async (folder) => {
    await scanMemoryManifest({ rootDir: folder })
    return { maxRssKib: process.resourceUsage().maxRSS }
  },
  names: async (folder) =>
    (await scanMemoryManifest({ rootDir: folder })).map(({ filename }) => filename),
  yaml: async (folder) => {
    return { holdMs: await holdOf(() => scanMemoryManifest({ rootDir: folder })) }
  },
}

if (isMainModule(import.meta.url)) {
  const [command, folder] = process.argv.slice(2)
  if (command === undefined) printRows(await benchManifest())
  else console.log(JSON.stringify(await commands[command](folder)))
}
