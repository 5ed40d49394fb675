/**
 * Makes `node_modules` match `package-lock.json`, so that `npm test` and `npm run demo` work on a
 * fresh clone. Only builtins may be imported here: nothing else is there yet.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repositoryRoot = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Runs `npm ci` when a locked package is missing or has another version; else does nothing.
 * Versions decide and not dates: a branch switch touches the lock file without changing it.
 * @param {(line: string) => void} report one line before npm starts to print.
 * @throws {Error} when `npm ci` fails.
 */
export function ensureInstalled(report) {
  if (installedMatchesLock(repositoryRoot)) return
  report('Installing the development packages (npm ci) …')
  const { status, error } = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm ci failed (${error?.message ?? `exit code ${status}`})`)
}

/**
 * Compares the lock file with the one that npm leaves inside `node_modules`.
 * @param {string} root
 * @returns {boolean}
 */
export function installedMatchesLock(root) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const present = readPackages(join(root, 'node_modules', '.package-lock.json'))
  if (wanted === undefined || present === undefined) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    const found = present[path]
    // Optional packages of other platforms are in the lock file only.
    if (found === undefined) return entry.optional === true || entry.devOptional === true
    return found.version === entry.version
  })
}

/**
 * @param {string} path
 * @returns {Record<string, { version?: string, optional?: boolean, devOptional?: boolean }> | undefined}
 */
function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}
