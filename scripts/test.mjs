/**
 * `npm test`: everything that a fresh clone needs, then every test.
 *
 * Only builtins may be imported at the top: on a fresh clone nothing else is installed yet.
 * Arguments go to vitest. The last line is always `N passed, N failed, N skipped`; vitest's
 * reporter prints it, so nothing may be printed after vitest has ended.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, repositoryRoot } from './ensure-installed.mjs'
import { hostSupport, installHost } from './install-host.mjs'

const HOST_PROJECT = 'host'
const vitestArguments = process.argv.slice(2)

try {
  ensureInstalled(report)
  report('Building lib/ …')
  if (runNode(['scripts/build.mjs']) !== 0) throw new Error('The build failed.')
} catch (error) {
  report(messageOf(error))
  process.stdout.write('\n0 passed, 1 failed, 0 skipped\n')
  process.exit(1)
}
const hostArguments = wantsHost() ? await prepareHost() : []
const vitest = join('node_modules', 'vitest', 'vitest.mjs')
process.exit(runNode([vitest, 'run', ...hostArguments, ...vitestArguments]))

/** @returns {boolean} false when `--project` names others only. */
function wantsHost() {
  const chosen = vitestArguments.flatMap((argument, index) => {
    if (argument === '--project') return [vitestArguments[index + 1] ?? '']
    return argument.startsWith('--project=') ? [argument.slice('--project='.length)] : []
  })
  return chosen.length === 0 || chosen.includes(HOST_PROJECT)
}

/**
 * Installs the host and packs the plugin once for all workers. A failure does not end the run: the
 * host tests then fail with this reason, and all others still say something.
 * @returns {Promise<string[]>} arguments for vitest.
 */
async function prepareHost() {
  const support = hostSupport()
  const reason =
    process.platform === 'linux' ? support.supported || support.reason : 'it is run on Linux only'
  if (reason !== true) {
    report(`Tests on the real host are left out: ${reason}.`)
    return [`--project=!${HOST_PROJECT}`]
  }
  try {
    await installHost({ report })
    const { packPlugin } = await import('../test/support/host/pack-plugin.mjs')
    process.env['PROJECT_MEMORY_TARBALL'] = await packPlugin()
  } catch (error) {
    report(messageOf(error))
    process.env['PROJECT_MEMORY_HOST_FAULT'] = messageOf(error)
  }
  return []
}

/** @param {string[]} args @returns {number} the exit code. */
function runNode(args) {
  return spawnSync(process.execPath, args, { cwd: repositoryRoot, stdio: 'inherit' }).status ?? 1
}

/** @param {string} line */
function report(line) {
  process.stdout.write(`${line}\n`)
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}
