/**
 * `npm run proof`: the proofs of durability at full length, one after the other.
 *
 * Arguments: `fault`, `power-cut`, `kill`, `fuzz`, `load`; without any, all of them. `npm test` runs
 * the same files in a short form. Prints what fails and, at the end, each counted line; `--write`
 * puts the lines of a whole run into the document.
 */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, repositoryRoot } from './ensure-installed.mjs'
import { writeProofs } from './figures.mjs'

/** Test files by proof. */
const PROOFS = {
  fault: [
    'test/fault/change.test.ts',
    'test/fault/broken-disk.test.ts',
    'test/fault/full-disk.test.ts',
  ],
  'power-cut': ['test/fault/power-cut.test.ts'],
  kill: ['test/process/kill.test.ts', 'test/process/contenders.test.ts'],
  fuzz: [
    'test/property/store.test.ts',
    'test/property/hostile-input.test.ts',
    'test/property/hostile-folder.test.ts',
  ],
  load: ['test/host/load.test.ts'],
}

const COUNTED_LINE = /^(?:fault|power-cut|kill|fuzz|load): /u
const WRITE = '--write'

const words = process.argv.slice(2)
const isWrite = words.includes(WRITE)
const chosen = words.filter((word) => word !== WRITE)
const unknown = chosen.filter((name) => !(name in PROOFS))
if (unknown.length > 0) {
  fail(`Unknown: ${unknown.join(', ')}. One of: ${Object.keys(PROOFS).join(', ')}; flag ${WRITE}.`)
}
if (isWrite && chosen.length > 0) fail(`${WRITE} needs all proofs in one run; name none.`)

ensureInstalled((line) => process.stdout.write(`${line}\n`))
const build = spawnSync(process.execPath, ['scripts/build.mjs'], {
  cwd: repositoryRoot,
  stdio: 'inherit',
})
if (build.status !== 0) process.exit(1)

const lines = []
const failed = []
for (const name of chosen.length > 0 ? chosen : Object.keys(PROOFS)) {
  const { code, counted } = await run(PROOFS[name])
  lines.push(...counted)
  // A proof that was left out has proved nothing.
  if (code !== 0 || counted.length === 0) failed.push(name)
}
process.stdout.write(`\n${lines.join('\n')}\n`)
if (failed.length > 0) process.stdout.write(`Failed: ${failed.join(', ')}\n`)
else if (isWrite) process.stdout.write(`written: ${writeProofs(lines)}\n`)
process.exitCode = failed.length > 0 ? 1 : 0

/** @returns {Promise<{ code: number, counted: string[] }>} of test files that run by themselves. */
function run(files) {
  const vitest = join('node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...files], {
    cwd: repositoryRoot,
    env: { ...process.env, PROOF: 'full' },
    stdio: ['inherit', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    output += text
  })
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const counted = output.split('\n').filter((line) => COUNTED_LINE.test(line))
      resolve({ code: code ?? 1, counted })
    })
  })
}

/** @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
