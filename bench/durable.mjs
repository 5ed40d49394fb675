/**
 * What savings are compared with: bare durable calls, and two usual packages used naively.
 *
 * Role: the other sides of the benchmarks of saves, and a directory on a real disk for them.
 */
import { mkdtemp, open, readFile, rename, rm, statfs } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const lockfile = require('proper-lockfile')
const writeFileAtomic = require('write-file-atomic')

/** `f_type` of a file system in memory: flushing costs nothing there, so nothing is measured. */
const TMPFS_MAGIC = 0x01021994
/** Tries of the naive side until it has the lock; ours waits no longer. */
const LOCK_RETRIES = { retries: 2_000, factor: 1, minTimeout: 2, maxTimeout: 5 }

/**
 * Runs a task with a new directory on a real disk, removed afterwards.
 * @template T
 * @param {(directory: string) => Promise<T>} task
 * @returns {Promise<T>}
 */
export async function onDisk(task) {
  const repository = dirname(dirname(fileURLToPath(import.meta.url)))
  for (const parent of [homedir(), dirname(repository), tmpdir()]) {
    const directory = await mkdtemp(join(parent, '.bench-')).catch(() => undefined)
    if (directory === undefined) continue
    try {
      if ((await statfs(directory)).type !== TMPFS_MAGIC) return await task(directory)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  }
  throw new Error('no writable place on a disk: home, repository and temp directory were tried')
}

/** Writes, flushes and renames a file, and flushes its directory: the least for a durable file. */
export async function replaceDurably(path, bytes) {
  const temporary = `${path}.tmp`
  const handle = await open(temporary, 'w', 0o600)
  await handle.writeFile(bytes)
  await handle.sync()
  await handle.close()
  await rename(temporary, path)
  const directory = await open(dirname(path), 'r')
  await directory.sync()
  await directory.close()
}

/**
 * A save as one writes it in an hour: a lock, the whole index as text with the line appended or
 * replaced, both files by `write-file-atomic`. Flushes no directory.
 */
export async function saveNaively(directory, { fileName, content, line }) {
  const unlock = await lockfile.lock(directory, { realpath: false, retries: LOCK_RETRIES })
  try {
    const indexPath = join(directory, 'MEMORY.md')
    const index = await readFile(indexPath, 'utf8').catch(() => '')
    const lines = index.split('\n').filter((one) => one !== '' && !one.includes(`](${fileName})`))
    await writeFileAtomic(join(directory, fileName), content)
    await writeFileAtomic(indexPath, `${[...lines, line].join('\n')}\n`)
  } finally {
    await unlock()
  }
}

/** @returns {string} an index of so many lines. */
export function indexOf(count) {
  const hook = 'a hook of usual length that says what the memory is about'
  return Array.from(
    { length: count },
    (_, at) => `- [Topic ${at}](topic-${at}.md) — ${hook}\n`,
  ).join('')
}

/** @returns what a save is given, the same in every benchmark. */
export function saveInput(number) {
  return {
    key: `Deploy rule number ${number}`,
    description: 'The staging migration has to run for a day before production.',
    content: `Rule ${number}.\n\n${'Why: a migration that looked harmless locked a table. '.repeat(20)}`,
  }
}

/** @returns the same memory for {@link saveNaively}. */
export function naiveInput(number) {
  const { key, description, content } = saveInput(number)
  const fileName = `deploy-rule-number-${number}.md`
  return { fileName, content, line: `- [${key}](${fileName}) — ${description}` }
}

/** @returns how long a task took, in ms. */
export async function timeOf(task) {
  const started = performance.now()
  await task()
  return performance.now() - started
}
