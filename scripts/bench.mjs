/**
 * Runs every benchmark (`npm run bench`) and prints one line for each figure.
 *
 * Timings are ratios against a baseline measured in the same run. Exits with 1 when a figure is
 * over its limit. `npm run bench -- save` runs one of them, `--short` takes fewer rounds, `--write`
 * puts the figures of this very run into the document and draws its chart.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled, repositoryRoot } from './ensure-installed.mjs'
import { writeFigures } from './figures.mjs'

/** What each file exports, and its options for `--short`. */
const BENCHES = {
  import: { run: 'benchImport' },
  'host-boot': { run: 'benchHostBoot', short: { rounds: 2 } },
  provider: { run: 'benchProvider', short: { rounds: 5 } },
  conversation: { run: 'benchConversation' },
  save: { run: 'benchSave', short: { rounds: 11, groupRounds: 1 } },
  'save-growth': { run: 'benchSaveGrowth', short: { rounds: 7 } },
  processes: { run: 'benchProcesses', short: { rounds: 1, saves: 15 } },
  manifest: { run: 'benchManifest' },
}
const RUN_ONE = '--one'
const words = process.argv.slice(2)

if (words[0] === RUN_ONE) await runOne(words[1], words[2], words.includes('--short'))
else runAll()

/** One benchmark in a process of its own; its rows go into a file besides. */
async function runOne(name, rowsFile, isShort) {
  const file = join(repositoryRoot, 'bench', `${name}.mjs`)
  const { run, short } = BENCHES[name]
  const { [run]: bench } = await import(pathToFileURL(file).href)
  const { printRows } = await import('../bench/report.mjs')
  const rows = await bench(isShort ? short : undefined)
  printRows(rows)
  writeFileSync(rowsFile, JSON.stringify(rows))
}

function runAll() {
  const flags = words.filter((word) => word.startsWith('-'))
  const wanted = words.filter((word) => !word.startsWith('-'))
  const names = Object.keys(BENCHES)
  const unknown = wanted.find((name) => !names.includes(name))
  const unknownFlag = flags.find((flag) => !['--short', '--write'].includes(flag))
  if (unknown !== undefined || unknownFlag !== undefined) {
    console.error(
      `There is no ${unknown ?? unknownFlag}; benchmarks are ${names.join(', ')}, flags --short and --write.`,
    )
    process.exit(2)
  }
  if (flags.includes('--write') && wanted.length > 0) {
    console.error('--write needs the figures of all benchmarks in one run; name none.')
    process.exit(2)
  }
  prepare()
  const folder = mkdtempSync(join(tmpdir(), 'bench-rows-'))
  let failures = 0
  const rows = []
  for (const name of wanted.length > 0 ? wanted : names) {
    const rowsFile = join(folder, `${name}.json`)
    console.log(`\n# ${name}`)
    const { status } = spawnSync(
      process.execPath,
      ['--expose-gc', process.argv[1], RUN_ONE, name, rowsFile, ...flags],
      { stdio: 'inherit' },
    )
    if (status !== 0) failures += 1
    if (existsSync(rowsFile)) rows.push(...JSON.parse(readFileSync(rowsFile, 'utf8')))
  }
  rmSync(folder, { recursive: true })
  if (flags.includes('--write')) {
    for (const path of writeFigures(rows)) console.log(`\nwritten: ${path}`)
  }
  process.exitCode = failures > 0 ? 1 : 0
}

function prepare() {
  ensureInstalled((line) => console.log(line))
  const build = spawnSync(process.execPath, [join(repositoryRoot, 'scripts', 'build.mjs')], {
    stdio: 'inherit',
  })
  if (build.status !== 0) process.exit(build.status ?? 1)
}
