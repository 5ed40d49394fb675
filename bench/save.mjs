/**
 * Cost of a save against the least that a durable save can do.
 *
 * Role: `benchSave()` gives one row per measurement; run alone it prints them and exits
 * with 1 when a limit is exceeded. Baseline of a save: one lock and unlock with
 * `proper-lockfile` around two bare durable replacements (open, write, fsync, rename,
 * directory fsync) of the same bytes, the memory file and the index. Baseline of 100
 * saves at once: 100 saves one after the other. Both sides take turns on one disk, the
 * medians count. Needs a build.
 */
import { mkdir, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ProjectMemoryStore, resolveProjectMemoryPaths } from '../lib/store/index.js'
import { replaceDurably } from './durable.mjs'
import { isMainModule, median, printRows } from './report.mjs'

const lockfile = createRequire(import.meta.url)('proper-lockfile')

const SAVE_LIMIT = 1.5
const GROUP_LIMIT = 0.2
const GROUP_SIZE = 100
/** Rounds that do not count: they pay for loaded modules, compiled code and the search for litter. */
const WARM_UP_ROUNDS = 5
/** `f_type` of a file system in memory: flushing costs nothing there, so nothing is measured. */
const TMPFS_MAGIC = 0x01021994

/**
 * @param {{ indexLines?: readonly number[], rounds?: number, groupRounds?: number }} [options]
 * @returns {Promise<(import('./report.mjs').BenchRow & { ratio: number, isWithin: boolean,
 *   ours_ms: number, baseline_ms: number })[]>} rows in the order to print.
 */
export async function benchSave({
  indexLines = [0, 1_000, 10_000],
  rounds = 61,
  groupRounds = 3,
} = {}) {
  const base = await diskDirectory()
  try {
    const rows = []
    for (const count of indexLines) rows.push(await compareSave(base, count, rounds))
    rows.push(await compareGroup(base, groupRounds))
    return rows
  } finally {
    await rm(base, { recursive: true, force: true })
  }
}

/** A new directory on a real disk. */
async function diskDirectory() {
  const repository = dirname(dirname(fileURLToPath(import.meta.url)))
  for (const parent of [homedir(), repository, tmpdir()]) {
    try {
      const directory = await mkdtemp(join(parent, '.bench-save-'))
      if ((await statfs(directory)).type !== TMPFS_MAGIC) return directory
      await rm(directory, { recursive: true })
    } catch {
      // Not writable; the next place may be.
    }
  }
  throw new Error('no writable place on a disk: home, repository and temp directory were tried')
}

async function compareSave(base, count, rounds) {
  const paths = resolveProjectMemoryPaths(`/bench/${count}`, { DSH_HOME: join(base, 'home') })
  const store = new ProjectMemoryStore(paths)
  const other = join(base, `bare-${count}`)
  await mkdir(other)
  await mkdir(paths.root, { recursive: true })
  const index = Buffer.from(indexOf(count))
  await replaceDurably(paths.indexFilePath, index)
  const saveOurs = (number) => timed(() => store.save(inputFor(number)))
  const saveBare = (bytes) => timed(() => saveBarely(other, bytes))
  const first = await saveOurs(0)
  const bytes = [await readFile(first.value.filePath), await readFile(paths.indexFilePath)]
  const ours = []
  const baseline = []
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    await replaceDurably(paths.indexFilePath, index)
    const number = round + WARM_UP_ROUNDS + 1
    // Who comes second finds another disk: the sides take turns at being first.
    const isOursFirst = number % 2 === 0
    const before = isOursFirst ? undefined : await saveBare(bytes)
    const own = await saveOurs(number)
    const bare = before ?? (await saveBare(bytes))
    if (round < 0) continue
    ours.push(own.ms)
    baseline.push(bare.ms)
  }
  const name = `save with ${count.toLocaleString('en')} index lines`
  return row(name, median(ours), median(baseline), SAVE_LIMIT)
}

async function compareGroup(base, rounds) {
  const atOnce = []
  const single = []
  for (let round = 0; round < rounds; round += 1) {
    const storeOf = (kind) =>
      new ProjectMemoryStore(
        resolveProjectMemoryPaths(`/bench/${kind}-${round}`, { DSH_HOME: join(base, 'home') }),
      )
    const [group, alone] = [storeOf('group'), storeOf('alone')]
    const inputs = Array.from({ length: GROUP_SIZE }, (_, at) => inputFor(at))
    await Promise.all([group, alone].map((store) => store.save(inputFor(GROUP_SIZE))))
    const one = await timed(() => Promise.all(inputs.map((input) => group.save(input))))
    const other = await timed(async () => {
      for (const input of inputs) await alone.save(input)
    })
    atOnce.push(one.ms)
    single.push(other.ms)
  }
  const name = `${GROUP_SIZE} saves at once against ${GROUP_SIZE} single ones`
  return row(name, median(atOnce), median(single), GROUP_LIMIT)
}

/** The least that makes a file and an index durable under a lock. */
async function saveBarely(directory, [file, index]) {
  const lockfilePath = `${directory}.lock`
  const unlock = await lockfile.lock(directory, { lockfilePath, realpath: false })
  await replaceDurably(join(directory, 'memory.md'), file)
  await replaceDurably(join(directory, 'MEMORY.md'), index)
  await unlock()
}

function inputFor(number) {
  return {
    key: `Deploy rule number ${number}`,
    description: 'The staging migration has to run for a day before production.',
    content: `Rule ${number}.\n\n${'Why: a migration that looked harmless locked a table. '.repeat(20)}`,
  }
}

function indexOf(count) {
  const hook = 'a hook of usual length that says what the memory is about'
  return Array.from(
    { length: count },
    (_, at) => `- [Topic ${at}](topic-${at}.md) — ${hook}\n`,
  ).join('')
}

async function timed(task) {
  const start = performance.now()
  const value = await task()
  return { ms: performance.now() - start, value }
}

function row(name, oursMs, baselineMs, limit) {
  const ratio = oursMs / baselineMs
  const isWithin = ratio <= limit
  const detail = `${oursMs.toFixed(2)} ms against ${baselineMs.toFixed(2)} ms`
  return {
    name,
    value: ratio,
    unit: 'x',
    limit,
    ratio,
    detail,
    passed: isWithin,
    isWithin,
    ours_ms: oursMs,
    baseline_ms: baselineMs,
  }
}

if (isMainModule(import.meta.url)) printRows(await benchSave())
