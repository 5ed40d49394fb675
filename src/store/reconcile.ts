/**
 * Making sure of an index that was published while the lock was being lost.
 *
 * Role: between the last check and the rename of the index a process can sleep,
 * lose its lock and then overwrite a newer index; no POSIX call closes that
 * window. So a transaction that finds its lock lost after the rename looks once
 * more under a new lock and writes the lines of its own files and of those that
 * another writer published meanwhile as the files themselves have it. Removes
 * nothing, and leaves a line alone that says what its file says.
 */
import { MemoryError } from '../errors.ts'
import { upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import type { IndexEntry } from '../types.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
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

/** @returns the entry that a file's own header asks for, if it is one of those in question. */
async function entryOf(
  context: StoreContext,
  fileName: string,
  isInQuestion: (mtimeMs: number) => boolean,
): Promise<IndexEntry | undefined> {
  const { fileSystem } = context
  const filePath = memoryFilePath(context, fileName)
  try {
    const stats = await fileSystem.lstat(filePath)
    if (!stats.isFile() || !isInQuestion(stats.mtimeMs)) return undefined
    const read = await readStableBytes(filePath, { fileSystem })
    if (read === undefined) return undefined
    const { title, description = '' } = readMemoryHeader(read.bytes.toString('utf8'))
    return title === undefined ? undefined : { title, fileName, hook: description }
  } catch {
    // Unreadable or gone: no line can be made for it.
    return undefined
  }
}

/** Entries of own files that still exist, and of files written since a moment. */
async function entriesInQuestion(
  context: StoreContext,
  own: readonly IndexEntry[],
  sinceMs: number,
): Promise<IndexEntry[]> {
  const ownNames = new Set(own.map(({ fileName }) => fileName))
  const names = await context.fileSystem.readdir(context.paths.root)
  const others = names.filter((name) => isSafeMemoryFileName(name) && !ownNames.has(name)).sort()
  const entries = await mapBounded([...ownNames, ...others], (fileName) =>
    entryOf(
      context,
      fileName,
      (mtimeMs) => ownNames.has(fileName) || mtimeMs >= sinceMs - CLOCK_SLACK_MS,
    ),
  )
  return entries.filter((entry) => entry !== undefined)
}

/**
 * Write the lines in question under a new lock. When the promise resolves, the
 * index is durable and has a line for each own entry whose file exists.
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
    let isDone = false
    try {
      const index = await readIndexVersion(context)
      const entries = await entriesInQuestion(context, own, sinceMs)
      const { text } = upsertIndexEntries(index.text, entries, utf8BytesCodec)
      if (text === index.text) return
      isDone = await publishIndex(context, lock, index, text)
      if (isDone) await syncDirectory(paths.root, fileSystem)
    } finally {
      const wasHeld = await lock.release()
      isDone &&= wasHeld
    }
    if (isDone) return
  }
  throw new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over again and again; try again`,
    {
      path: lockPath,
    },
  )
}
