/**
 * `npm run proof`: the proofs of durability at full length.
 *
 * Arguments: `fault`, `power-cut`, `kill`, `fuzz`, `load`; without any, all of them. `npm test` runs
 * the same files in a short form. Prints what fails and, at the end, each counted line.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, repositoryRoot } from './ensure-installed.mjs'

/** Test files by proof. */
const PROOFS = {
  fault: ['test/fault/change.test.ts', 'test/fault/save.test.ts', 'test/fault/remove-file.test.ts'],
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

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !(name in PROOFS))
if (unknown.length > 0) {
  process.stderr.write(
    `Unknown: ${unknown.join(', ')}. One of: ${Object.keys(PROOFS).join(', ')}.\n`,
  )
  process.exit(2)
}
const files = Object.entries(PROOFS)
  .filter(([name]) => chosen.length === 0 || chosen.includes(name))
  .flatMap(([, paths]) => paths)
  .filter((path) => existsSync(join(repositoryRoot, path)))
if (files.length === 0) {
  process.stderr.write('There is no test file of this proof.\n')
  process.exit(2)
}

ensureInstalled((line) => process.stdout.write(`${line}\n`))
const build = spawnSync(process.execPath, ['scripts/build.mjs'], {
  cwd: repositoryRoot,
  stdio: 'inherit',
})
if (build.status !== 0) process.exit(1)

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
child.on('close', (code) => {
  const lines = output.split('\n').filter((line) => COUNTED_LINE.test(line))
  process.stdout.write(`\n${lines.join('\n')}\n`)
  process.exit(code ?? 1)
})
