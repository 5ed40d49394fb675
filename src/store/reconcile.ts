/**
 * Making sure of an index that was published while the lock was being lost.
 *
 * Role: between the last check and the rename of the index a process can sleep,
 * lose its lock and then overwrite a newer index; no POSIX call closes that
 * window. So a transaction that finds its lock lost after the rename looks once
 * more under a new lock and adds the lines that are missing: its own, and those
 * of files that another writer published meanwhile. Removes nothing.
 */
import { MemoryError } from '../errors.ts'
import { findIndexEntries, upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import type { IndexEntry } from '../types.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory } from './directories.ts'
import { memoryFilePath } from './file-name.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import { acquireLock } from './lock.ts'
import { isSafeMemoryFileName } from './paths.ts'
import { readStableBytes } from './stable-read.ts'

/** Tries to publish; each waits for the lock anew. */
const RECONCILE_ATTEMPTS = 5

/** Clocks of writer and file server may differ by so much, in ms, when "published meanwhile" is judged. */
const CLOCK_SLACK_MS = 60_000

/** Entries of files that were written since a moment and have no line. */
async function missingEntries(
  context: StoreContext,
  indexText: string,
  sinceMs: number,
): Promise<IndexEntry[]> {
  const { fileSystem, paths } = context
  const entries: IndexEntry[] = []
  for (const fileName of await fileSystem.readdir(paths.root)) {
    if (!isSafeMemoryFileName(fileName)) continue
    if (findIndexEntries(indexText, fileName, utf8BytesCodec).length > 0) continue
    const filePath = memoryFilePath(context, fileName)
    const stats = await fileSystem.lstat(filePath).catch(() => undefined)
    if (stats === undefined || !stats.isFile() || stats.mtimeMs < sinceMs - CLOCK_SLACK_MS) continue
    const read = await readStableBytes(filePath, { fileSystem }).catch(() => undefined)
    if (read === undefined) continue
    const { title, description } = readMemoryHeader(read.bytes.toString('utf8'))
    if (title !== undefined) entries.push({ title, fileName, hook: description ?? '' })
  }
  return entries
}

/** Own entries whose file still exists and whose line is missing. */
async function lostEntries(
  context: StoreContext,
  indexText: string,
  own: readonly IndexEntry[],
): Promise<IndexEntry[]> {
  const lost: IndexEntry[] = []
  for (const entry of own) {
    if (findIndexEntries(indexText, entry.fileName, utf8BytesCodec).length > 0) continue
    const stats = await context.fileSystem
      .lstat(memoryFilePath(context, entry.fileName))
      .catch(() => undefined)
    if (stats !== undefined) lost.push(entry)
  }
  return lost
}

/**
 * Add missing lines under a new lock. When the promise resolves, the index is
 * durable and has a line for each own entry whose file exists.
 * @param own - the entries of the transaction whose lock was lost.
 * @param sinceMs - when that transaction took its lock, ms since the epoch.
 * @throws MemoryError when the index cannot be read or published; it is then as it was.
 */
export async function reconcileIndex(
  context: StoreContext,
  own: readonly IndexEntry[],
  sinceMs: number,
): Promise<void> {
  const { fileSystem, lockPath, lockTimes: times, paths } = context
  for (let attempt = 0; attempt < RECONCILE_ATTEMPTS; attempt += 1) {
    const lock = await acquireLock(lockPath, { fileSystem, times })
    try {
      const index = await readIndexVersion(context)
      const lost = await lostEntries(context, index.text, own)
      const others = (await missingEntries(context, index.text, sinceMs)).filter(
        (entry) => !lost.some(({ fileName }) => fileName === entry.fileName),
      )
      const entries = [...lost, ...others]
      if (entries.length === 0) return
      const { text } = upsertIndexEntries(index.text, entries, utf8BytesCodec)
      if (await publishIndex(context, lock, index, text)) {
        await syncDirectory(paths.root, fileSystem)
        if (await lock.isHeld()) return
      }
    } finally {
      await lock.release()
    }
  }
  throw new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over again and again; try again`,
    {
      path: lockPath,
    },
  )
}
