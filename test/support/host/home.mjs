/**
 * A home of its own for every test: the host's files, the user's files, and project folders.
 *
 * `DSH_HOME` and the projects are siblings, so neither lies in the other; the whole lies outside
 * every temporary directory (see places.mjs) and is removed with `removeHome`.
 */
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hostPath, installHost, packageManagerEnvironment } from '../../../scripts/install-host.mjs'
import { exclusively } from './exclusive.mjs'
import { homesDirectory, removeAbandoned } from './places.mjs'
import { runProcess } from './run-process.mjs'

/** @typedef {import('./index.d.mts').Home} Home */
/** @typedef {import('./index.d.mts').PatchRow} PatchRow */

const PLUGIN_TIMEOUT_MS = 3 * 60_000

/**
 * Makes a home, with plugins installed when asked.
 * Tarballs given by absolute path are installed once and copied after that; every other spec goes
 * through `dsh plugin add` each time.
 * @param {{ profile?: string, plugins?: readonly string[] }} [options] profile `headless` by default.
 * @returns {Promise<Home>}
 * @throws {Error} with the output of pnpm when a plugin cannot be installed.
 */
export async function createHome(options = {}) {
  const { profile = 'headless', plugins = [] } = options
  await mkdir(homesDirectory(), { recursive: true })
  await removeAbandoned(homesDirectory())
  const root = await mkdtemp(join(homesDirectory(), 'home-'))
  const home = describeHome(root, profile)
  try {
    await mkdir(home.userHome)
    if (plugins.length > 0 && plugins.every((spec) => spec.endsWith('.tgz'))) {
      const template = await homeTemplate(profile, plugins)
      await cp(template, home.dshHome, { recursive: true, verbatimSymlinks: true })
    } else {
      await mkdir(home.dshHome)
      for (const spec of plugins) await addPlugin(home, spec)
    }
    return home
  } catch (error) {
    await removeHome(home)
    throw error
  }
}

/**
 * Removes a home with everything below it.
 * @param {Home} home
 */
export async function removeHome(home) {
  await rm(home.root, { recursive: true, force: true, maxRetries: 3 })
}

/**
 * Installs a plugin the way a person does, with `dsh plugin --profile <profile> add <spec>`.
 * @param {Home} home
 * @param {string} spec a tarball or directory (absolute), `file:` address or registry name.
 * @returns {Promise<string>} what the command printed.
 * @throws {Error} with that output when it fails.
 */
export function addPlugin(home, spec) {
  return pluginCommand(home, ['add', spec])
}

/**
 * Runs `dsh plugin --profile <profile> <args>`.
 * @param {Home} home
 * @param {readonly string[]} args arguments of pnpm.
 * @returns {Promise<string>} both streams.
 * @throws {Error} with them when it fails.
 */
export async function pluginCommand(home, args) {
  const host = await installHost()
  const environment = {
    ...packageManagerEnvironment(),
    PATH: hostPath(host),
    DSH_HOME: home.dshHome,
  }
  const command = [host.dshPath, 'plugin', '--profile', home.profile, ...args]
  const options = { cwd: home.root, env: environment, timeoutMs: PLUGIN_TIMEOUT_MS }
  const { code, stdout, stderr } = await runProcess(host.nodePath, command, options)
  if (code !== 0)
    throw new Error(`dsh plugin ${args.join(' ')} failed (code ${code}):\n${stdout}${stderr}`)
  return stdout + stderr
}

/**
 * Writes the home's own patch layer, which the host applies last of all files and to every profile.
 * @param {Home} home
 * @param {readonly PatchRow[]} rows replace those of an earlier call. A row's `config` replaces the bundle's whole `config`.
 */
export async function writePatch(home, rows) {
  await writeFile(join(home.dshHome, 'cordis.patch.yml'), `${JSON.stringify(rows, null, 2)}\n`)
}

/**
 * @param {string} root
 * @param {string} profile
 * @returns {Home}
 */
function describeHome(root, profile) {
  return {
    root,
    profile,
    dshHome: join(root, 'dsh'),
    userHome: join(root, 'user'),
    async project(name = 'project') {
      const path = join(root, 'projects', name)
      await mkdir(path, { recursive: true })
      return path
    },
  }
}

/**
 * A `DSH_HOME` with the given tarballs installed, shared by all processes and never started itself.
 * @param {string} profile
 * @param {readonly string[]} tarballs
 * @returns {Promise<string>} its directory.
 */
async function homeTemplate(profile, tarballs) {
  const { id } = await installHost()
  const hash = createHash('sha256').update(`${id}\0${profile}`)
  for (const path of tarballs) hash.update(basename(path)).update(await readFile(path))
  const directory = join(homesDirectory(), `template-${hash.digest('hex').slice(0, 16)}`)
  await exclusively(`${directory}.lock`, async () => {
    if (!(await exists(directory))) await makeTemplate(directory, profile, tarballs)
    // The fresh date keeps it from being taken for an abandoned one.
    await utimes(directory, new Date(), new Date())
  })
  return directory
}

/**
 * @param {string} directory
 * @param {string} profile
 * @param {readonly string[]} tarballs
 */
async function makeTemplate(directory, profile, tarballs) {
  const staging = describeHome(await mkdtemp(join(homesDirectory(), 'home-')), profile)
  try {
    await mkdir(staging.dshHome)
    for (const spec of tarballs) await addPlugin(staging, spec)
    await rename(staging.dshHome, directory)
  } finally {
    await removeHome(staging)
  }
}

/** @param {string} path */
function exists(path) {
  return stat(path).then(
    () => true,
    () => false,
  )
}
