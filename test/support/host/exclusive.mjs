/**
 * One process at a time for slow work on shared files: the host's installation, a build, a pack.
 *
 * It saves time and does not guard data: whatever runs under it must also be safe without it
 * (publish by rename), because a lock of a dead process is simply taken over.
 */
import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 200
/** Longer than the slowest installation seen (about a minute), shorter than a patient person. */
const PATIENCE_MS = 15 * 60_000

/**
 * Runs `task` while no other process runs one under the same `path`.
 * @template T
 * @param {string} path the lock file; its folder is made when missing.
 * @param {() => Promise<T>} task
 * @param {() => void} [onWait] called once when somebody else is at it.
 * @returns {Promise<T>} what `task` gave; the lock is gone in every case.
 * @throws {Error} when a living process holds the lock for longer than 15 minutes.
 */
export async function exclusively(path, task, onWait) {
  await mkdir(dirname(path), { recursive: true })
  const deadline = Date.now() + PATIENCE_MS
  let waited = false
  while (!(await tryTake(path))) {
    if (await releaseDeadOwner(path)) continue
    if (!waited) onWait?.()
    waited = true
    if (Date.now() > deadline)
      throw new Error(`${path} is held by another process: remove it when that is wrong.`)
    await delay(POLL_MS)
  }
  try {
    return await task()
  } finally {
    await rm(path, { force: true })
  }
}

/** @param {string} path @returns {Promise<boolean>} `link` makes name and content appear in one step. */
async function tryTake(path) {
  const own = `${path}.${randomUUID()}`
  await writeFile(own, String(process.pid))
  try {
    await link(own, path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(own, { force: true })
  }
}

/** @param {string} path @returns {Promise<boolean>} true when the lock may be tried again at once. */
async function releaseDeadOwner(path) {
  const owner = await readFile(path, 'utf8').catch(() => undefined)
  if (owner === undefined) return true
  if (isAlive(Number(owner))) return false
  const grave = `${path}.${randomUUID()}`
  try {
    await rename(path, grave)
  } catch {
    return true
  }
  // Between reading and renaming somebody else may have buried the dead owner and taken the lock.
  const buried = await readFile(grave, 'utf8')
  if (buried !== owner) await link(grave, path).catch(() => undefined)
  await rm(grave, { force: true })
  return true
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
