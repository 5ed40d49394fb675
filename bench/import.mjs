/**
 * Cost of importing the plugin entry against importing its one host dependency.
 *
 * Role: `benchImport()` gives one row; run alone it prints it and exits with 1
 * when the limit is exceeded. Whole processes, ours and the baseline in turn, so
 * that a busy machine slows both. Needs a build.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isMainModule, median, printRows } from './report.mjs'

const RUNS = 25
const LIMIT = 1.3
const repository = fileURLToPath(new URL('..', import.meta.url))

/** @returns {Promise<import('./report.mjs').BenchRow[]>} */
export async function benchImport() {
  const times = { ours: [], baseline: [] }
  runProcess('dsh-zcode-project-memory')
  runProcess('@deepseek-ai/schemastery')
  for (let run = 0; run < RUNS; run += 1) {
    times.ours.push(runProcess('dsh-zcode-project-memory'))
    times.baseline.push(runProcess('@deepseek-ai/schemastery'))
  }
  const [ours, baseline] = [median(times.ours), median(times.baseline)]
  const ratio = ours / baseline
  return [
    {
      name: 'import of the plugin entry, process over one that imports schemastery',
      value: ratio,
      ratio,
      unit: 'x',
      limit: LIMIT,
      detail: `${ours.toFixed(1)} ms, baseline ${baseline.toFixed(1)} ms`,
      passed: ratio <= LIMIT,
    },
  ]
}

/** @returns {number} ms of one process that imports a package. */
function runProcess(specifier) {
  const started = performance.now()
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import ${JSON.stringify(specifier)}`],
    { cwd: repository, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`import of ${specifier} failed: ${stderr}`)
  return performance.now() - started
}

if (isMainModule(import.meta.url)) printRows(await benchImport())
