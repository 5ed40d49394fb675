/**
 * Builds and packs this repository's plugin, as a release would.
 *
 * The tarball is named after its content, so that whoever installs it may reuse an earlier
 * installation of the same bytes and never gets one of other bytes.
 */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { repositoryRoot } from '../../../scripts/ensure-installed.mjs'
import { packageManagerEnvironment } from '../../../scripts/install-host.mjs'
import { exclusively } from './exclusive.mjs'
import { cacheDirectory, removeAbandoned } from './places.mjs'
import { runProcess } from './run-process.mjs'

/** @type {Promise<string> | undefined} */
let packed

/**
 * Packs the plugin once per process, after a build when `lib/` is missing or older than `src/`.
 * @returns {Promise<string>} the tarball's absolute path, in the cache. `PROJECT_MEMORY_TARBALL`
 * names a finished one instead: the test runner packs once for all its workers.
 * @throws {Error} with the output of the build or of `npm pack`.
 */
export function packPlugin() {
  const finished = process.env['PROJECT_MEMORY_TARBALL']
  packed ??= finished ? Promise.resolve(finished) : packFresh()
  return packed
}

/** @returns {Promise<string>} */
async function packFresh() {
  const folder = join(cacheDirectory(), 'packed')
  await mkdir(folder, { recursive: true })
  return exclusively(join(folder, 'pack.lock'), async () => {
    await removeAbandoned(folder)
    if (await buildIsStale()) await run(process.execPath, ['scripts/build.mjs'])
    const { name, content } = await packDirectory(repositoryRoot, folder)
    const digest = createHash('sha256').update(content.bytes).digest('hex').slice(0, 12)
    const target = join(folder, `${name}-${digest}.tgz`)
    await rename(content.path, target)
    await rm(content.directory, { recursive: true, force: true })
    return target
  })
}

/**
 * @param {string} root a package directory.
 * @param {string} folder a directory on the file system of the result.
 */
async function packDirectory(root, folder) {
  const directory = await mkdtemp(join(folder, 'new-'))
  await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], root)
  const [file] = await readdir(directory)
  if (file === undefined) throw new Error(`npm pack left no tarball in ${directory}`)
  const path = join(directory, file)
  const { name } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return { name, content: { directory, path, bytes: await readFile(path) } }
}

/** @returns {Promise<boolean>} */
async function buildIsStale() {
  const built = await stat(join(repositoryRoot, 'lib', 'index.js')).catch(() => undefined)
  if (built === undefined) return true
  const source = join(repositoryRoot, 'src')
  const names = await readdir(source, { recursive: true })
  const times = await Promise.all(
    names.map(async (name) => (await stat(join(source, name))).mtimeMs),
  )
  return times.some((time) => time > built.mtimeMs)
}

/** @param {string} command @param {string[]} args @param {string} [cwd] */
async function run(command, args, cwd = repositoryRoot) {
  const { code, stdout, stderr } = await runProcess(command, args, {
    cwd,
    env: packageManagerEnvironment(),
  })
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} failed (code ${code}):\n${stdout}${stderr}`)
}
