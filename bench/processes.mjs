/**
 * Several processes that save into one memory at the same time.
 *
 * Role: `benchProcesses()` gives its rows; run alone it prints them, run with a side and a
 * directory it is one of the processes. Sides as in `save-growth.mjs`; the bare calls take no lock
 * and write files of their own, since nothing else is the least. Needs a build.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { scanIndexEntries } from '../lib/format/index.js'
import { ProjectMemoryStore, resolveProjectMemoryPaths } from '../lib/store/index.js'
import { naiveInput, onDisk, replaceDurably, saveInput, saveNaively, timeOf } from './durable.mjs'
import { isMainModule, median, printRows } from './report.mjs'

const PROCESSES = 4
const SAVES = 50
const self = fileURLToPath(import.meta.url)

const SIDES = {
  ours: (directory) => {
    const store = new ProjectMemoryStore(pathsIn(directory))
    return (number) => store.save(saveInput(number))
  },
  bare: (directory) => async (number) => {
    const path = join(directory, `${process.pid}`)
    await replaceDurably(`${path}.md`, saveInput(number).content)
    await replaceDurably(`${path}.index`, naiveInput(number).line)
  },
  naive: (directory) => (number) => saveNaively(directory, naiveInput(number)),
}

/**
 * @param {{ rounds?: number, saves?: number }} [options]
 * @returns {Promise<import('./report.mjs').BenchRow[]>}
 */
export function benchProcesses({ rounds = 3, saves = SAVES } = {}) {
  return onDisk(async (base) => {
    const times = { ours: [], bare: [], naive: [] }
    for (let round = 0; round < rounds; round += 1) {
      for (const side of Object.keys(SIDES)) {
        const directory = join(base, `${side}-${round}`)
        await mkdir(directory)
        times[side].push(await runTogether(side, directory, saves))
        await assertComplete(side, directory, saves)
      }
    }
    return [toRow(times, saves)]
  })
}

function pathsIn(directory) {
  return resolveProjectMemoryPaths('/bench', { DSH_HOME: directory })
}

/** @returns {Promise<number>} ms from the moment that all are ready until all are done. */
async function runTogether(side, directory, saves) {
  const children = Array.from({ length: PROCESSES }, (_, at) =>
    spawn(process.execPath, [self, side, directory, String(at * saves), String(saves)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  const ended = children.map((child) => once(child, 'exit'))
  await Promise.all(children.map((child) => once(child.stdout, 'data')))
  return timeOf(async () => {
    for (const child of children) child.stdin.end('go\n')
    const codes = (await Promise.all(ended)).map(([code]) => code)
    if (codes.some((code) => code !== 0)) throw new Error(`${side}: processes ended with ${codes}`)
  })
}

async function assertComplete(side, directory, saves) {
  if (side === 'bare') return
  const path = side === 'ours' ? pathsIn(directory).indexFilePath : join(directory, 'MEMORY.md')
  const found = scanIndexEntries(await readFile(path, 'utf8')).length
  if (found !== PROCESSES * saves) throw new Error(`${side}: ${found} lines are in the index`)
}

function toRow(times, saves) {
  const [ours, bare, naive] = ['ours', 'bare', 'naive'].map((side) => median(times[side]))
  const count = PROCESSES * saves
  const each = (ms) => `${(ms / count).toFixed(2)} ms`
  return {
    name: `${PROCESSES} processes with ${saves} saves each into one memory, over bare durable calls without a lock`,
    value: ours / bare,
    ratio: ours / bare,
    unit: 'x',
    detail: `${(ours / naive).toFixed(2)} x the naive save; ${each(ours)} a save, bare ${each(bare)}, naive ${each(naive)}; no line lost`,
    passed: true,
  }
}

/** One of the processes: says that it is ready, waits for a line, saves, ends. */
async function work([side, directory, from, count]) {
  const save = SIDES[side](directory)
  const lines = createInterface({ input: process.stdin })
  process.stdout.write('ready\n')
  await once(lines, 'line')
  for (let at = 0; at < Number(count); at += 1) await save(Number(from) + at)
}

if (isMainModule(import.meta.url)) {
  const args = process.argv.slice(2)
  if (args.length === 4) await work(args)
  else printRows(await benchProcesses())
}
