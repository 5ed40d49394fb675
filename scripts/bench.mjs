/**
 * Runs every benchmark (`npm run bench`) and prints one line for each figure.
 *
 * Timings are ratios against a baseline measured in the same run. Exits with 1
 * when a figure is over its limit. `npm run bench -- save` runs one of them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, repositoryRoot } from './ensure-installed.mjs'

const BENCHES = ['import', 'provider', 'save', 'manifest']

ensureInstalled((line) => console.log(line))
const build = spawnSync(process.execPath, [join(repositoryRoot, 'scripts', 'build.mjs')], {
  stdio: 'inherit',
})
if (build.status !== 0) process.exit(build.status ?? 1)

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('-'))
const unknown = wanted.find((name) => !BENCHES.includes(name))
if (unknown !== undefined) {
  console.error(`No benchmark "${unknown}"; there are ${BENCHES.join(', ')}.`)
  process.exit(2)
}
let failures = 0
for (const name of wanted.length > 0 ? wanted : BENCHES) {
  const file = join(repositoryRoot, 'bench', `${name}.mjs`)
  if (!existsSync(file)) throw new Error(`${file} is missing`)
  console.log(`\n# ${name}`)
  const { status } = spawnSync(process.execPath, ['--expose-gc', file], { stdio: 'inherit' })
  if (status !== 0) failures += 1
}
process.exitCode = failures > 0 ? 1 : 0
