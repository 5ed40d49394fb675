/**
 * `npm run test:subsystems`: runs the example of each subsystem and checks what it prints.
 *
 * An example passes when it ends by itself with 0 and prints one line of JSON with the right
 * content. A folder with other examples of the same names may be given as the argument.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An example takes well under a second; one that is still there then does not end by itself. */
const TIME_LIMIT_MS = 30_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = resolve(process.argv[2] ?? join(root, 'examples'))

/** What each example must say, by its name. */
const EXPECTED = {
  manifest: ({ count, list }) => count === 1 && list.includes('release-day.md'),
  extraction: ({ first, second }) => first.decision === 'run' && second.decision === 'skip',
  'memory-agent': ({ saved, content, refused }) =>
    saved === 'release-day.md' && content !== '' && refused.length === 1,
}

if (!existsSync(join(root, 'lib'))) {
  const build = [join(root, 'scripts', 'build.mjs')]
  const { status } = spawnSync(process.execPath, build, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

let failed = 0
for (const [subsystem, isRight] of Object.entries(EXPECTED)) {
  const problem = problemOf(subsystem, isRight)
  if (problem !== undefined) failed += 1
  process.stdout.write(`${problem === undefined ? 'ok' : 'FAILED'} ${subsystem}${problem ?? ''}\n`)
}
const passed = Object.keys(EXPECTED).length - failed
process.stdout.write(`\n${passed} passed, ${failed} failed, 0 skipped\n`)
process.exitCode = failed === 0 ? 0 : 1

/**
 * @param {string} subsystem
 * @param {(said: any) => boolean} isRight
 * @returns {string | undefined} what is wrong, to be printed after the name.
 */
function problemOf(subsystem, isRight) {
  const { error, signal, status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(folder, `${subsystem}.mjs`)],
    { cwd: root, encoding: 'utf8', timeout: TIME_LIMIT_MS, killSignal: 'SIGKILL' },
  )
  if (error !== undefined || signal !== null) return ': does not end by itself'
  if (status !== 0) return `: exit code ${status}\n${stderr}`
  const lines = stdout.trimEnd().split('\n')
  if (lines.length !== 1) return `: printed ${lines.length} lines instead of one`
  try {
    const said = JSON.parse(lines[0])
    if (said.subsystem === subsystem && isRight(said)) return undefined
  } catch {
    // Not JSON, or without the expected fields: the line itself says more than the error.
  }
  return `: printed ${lines[0]}`
}
