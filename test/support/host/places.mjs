/**
 * Where the harness keeps its files: all outside the repository, none under a temporary directory.
 *
 * The host's sandbox lets every process write below `/tmp` and the system's temporary directory, so
 * a home that lies there would make each test about permissions pass for the wrong reason.
 */
import { existsSync, realpathSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'

const FOLDER = 'dsh-zcode-project-memory'
/** A run takes minutes: what is a day old was left behind by one that was killed. */
const ABANDONED_MS = 24 * 3_600_000

/**
 * The cache folder of this project; it need not exist yet.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} `<XDG_CACHE_HOME or ~/.cache>/dsh-zcode-project-memory`; a relative
 * `XDG_CACHE_HOME` is ignored, as its specification demands.
 */
export function cacheDirectory(env = process.env) {
  const configured = env['XDG_CACHE_HOME'] ?? ''
  return join(isAbsolute(configured) ? configured : join(homedir(), '.cache'), FOLDER)
}

/**
 * The folder in which fresh host homes are made.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} the first of cache folder, user's home and `/var/tmp` outside every temporary directory.
 * @throws {Error} when none of them is.
 */
export function homesDirectory(env = process.env) {
  const candidates = [
    join(cacheDirectory(env), 'homes'),
    join(homedir(), `.${FOLDER}-homes`),
    `/var/tmp/${FOLDER}-homes`,
  ]
  const usable = candidates.find((path) => !isTemporary(path))
  if (usable === undefined) {
    throw new Error(
      'Every place for a host home lies under /tmp: set XDG_CACHE_HOME to another one.',
    )
  }
  return usable
}

/**
 * Whether the host's sandbox would let everybody write to `path`.
 * @param {string} path absolute; its last parts may be missing.
 */
export function isTemporary(path) {
  const real = realPath(path)
  return ['/tmp', tmpdir()].some(
    (root) => real === realPath(root) || real.startsWith(realPath(root) + sep),
  )
}

/**
 * Removes what killed runs left behind in a folder that only this harness writes to.
 * @param {string} folder must exist.
 */
export async function removeAbandoned(folder) {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const entry = await stat(path).catch(() => undefined)
    if (entry !== undefined && Date.now() - entry.mtimeMs > ABANDONED_MS) {
      await rm(path, { recursive: true, force: true })
    }
  }
}

/** @param {string} path @returns {string} links resolved in the part that exists. */
function realPath(path) {
  if (existsSync(path)) return realpathSync(path)
  const parent = dirname(path)
  return parent === path
    ? path
    : resolve(realPath(parent), path.slice(parent.length).replace(/^[/\\]/, ''))
}
