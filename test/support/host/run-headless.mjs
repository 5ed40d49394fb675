/**
 * Runs the real host once: one task, one answer, one process.
 *
 * The environment is built from nothing but what the host needs, so that neither the person's own
 * settings, instructions and keys nor those of the test runner reach it.
 */
import { hostPath, installHost } from '../../../scripts/install-host.mjs'
import { runProcess } from './run-process.mjs'

/** @typedef {import('./index.d.mts').HostProcessOptions} HostProcessOptions */
/** @typedef {import('./index.d.mts').HeadlessResult} HeadlessResult */

/** A run takes about 3 s; the rest is for a busy machine. */
const TIMEOUT_MS = 120_000
const INHERITED = new Set(['LANG', 'LC_ALL', 'TERM', 'TZ', 'TMPDIR'])

/**
 * Runs `dsh --profile <profile> <task>`.
 * @param {HostProcessOptions & { task: string }} options
 * @returns {Promise<HeadlessResult>} also when the host fails: look at `code`. `requests` are the
 * turns that the scripted model was asked in this run.
 */
export async function runHeadless(options) {
  const { home, model, task, patches = [], timeoutMs = TIMEOUT_MS } = options
  const host = await installHost()
  const before = model.requests().length
  const args = [
    host.dshPath,
    '--profile',
    home.profile,
    ...patches.flatMap((path) => ['--patch', path]),
    task,
  ]
  const ended = await runProcess(host.nodePath, args, {
    cwd: options.cwd ?? (await home.project()),
    env: hostEnvironment(host, options),
    timeoutMs,
  })
  return { ...ended, requests: model.requests().slice(before) }
}

/**
 * The whole environment of a host process.
 * @param {import('../../../scripts/install-host.mjs').Host} host
 * @param {HostProcessOptions} options
 * @returns {NodeJS.ProcessEnv} `options.env` wins over everything.
 */
export function hostEnvironment(host, options) {
  const { home, model, env = {} } = options
  const inherited = Object.entries(process.env).filter(([name]) => INHERITED.has(name))
  return {
    ...Object.fromEntries(inherited),
    PATH: hostPath(host),
    HOME: home.userHome,
    DSH_HOME: home.dshHome,
    DSH_TELEMETRY_DISABLED: '1',
    DEEPSEEK_BASE_URL: model.url,
    DEEPSEEK_API_KEY: 'scripted',
    ...env,
  }
}
