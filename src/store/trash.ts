/**
 * Forgotten memories that can still be had back.
 *
 * Role: one file per forgotten memory under `.trash`: a JSON line with what its
 * index entry was, then the bytes of the memory file. Kept 30 days, at most 100.
 * The suffix keeps them out of every scan for `.md`.
 */
import { constants } from 'node:fs'
import { join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { writeFileAtomic } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import { isSafeMemoryFileName } from './paths.ts'
import type { StableBytes } from './stable-read.ts'
import { SAFE_READ_FLAGS, readError, readStableBytes } from './stable-read.ts'

/** Name of the directory in the memory directory. */
export const TRASH_DIRECTORY_NAME = '.trash'

/** How long a forgotten memory is kept, in days. */
export const TRASH_KEEP_DAYS = 30

/** How many forgotten memories are kept. */
export const TRASH_KEEP_COUNT = 100

const DAY_MS = 24 * 60 * 60 * 1000

/** Most bytes of the memory's name inside the trash file's name; a file name has 255. */
const NAME_MAX_BYTES = 200

/** Most bytes of the JSON line: an index line and a title are far shorter. */
const RECORD_MAX_BYTES = 64 * 1024

const TRASH_NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(.+\.md)\.trash$/u

/** What the JSON line says. */
export interface TrashRecord {
  fileName: string
  title: string
  /** The index line as it was, with lines that belonged to it; `''` when there was none. */
  indexLine: string
  /** File name of the entry before it; `null` when it was the first. */
  after: string | null
  /** The session that forgot it; `null` outside a session. */
  sessionId: string | null
}

/** Where a copy is. */
export interface TrashCopy {
  path: string
  /** When it was forgotten, ms since the epoch. */
  trashedMs: number
}

/** A file in the trash. */
export interface TrashItem extends TrashCopy {
  record: TrashRecord
}

/** @returns the trash directory of a memory. */
export function trashDirectory({ paths }: StoreContext): string {
  return join(paths.root, TRASH_DIRECTORY_NAME)
}

function trashedMsOf(name: string): number | undefined {
  const parts = TRASH_NAME.exec(name)?.slice(1, 8).map(Number)
  if (parts === undefined) return undefined
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0, ms = 0] = parts
  return Date.UTC(year, month - 1, day, hour, minute, second, ms)
}

function shortened(fileName: string): string {
  const stem = Array.from(fileName.slice(0, -'.md'.length))
  while (Buffer.byteLength(stem.join('')) > NAME_MAX_BYTES) stem.pop()
  return `${stem.join('')}.md`
}

/** Make sure that the trash is a directory of its own and no link. */
async function ensureTrash(context: StoreContext): Promise<string> {
  const { fileSystem, paths } = context
  const directory = trashDirectory(context)
  try {
    await fileSystem.mkdir(directory, { mode: 0o700 })
    await syncDirectory(paths.root, fileSystem)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw writeError(directory, error)
  }
  if (!(await fileSystem.lstat(directory)).isDirectory()) {
    throw new MemoryError('UNSAFE_PATH', `${directory} is not a real directory; move it away`, {
      path: directory,
    })
  }
  return directory
}

/** Latest time that has the form of a name, ms since the epoch: the end of the year 9998. */
const LATEST_STAMP_MS = Date.UTC(9998, 11, 31)

/** The newest copy is the newest by its name too, also when the clock was set back meanwhile. */
function stampAfter(newestMs: number | undefined, nowMs: number): number {
  return newestMs === undefined || newestMs < nowMs || newestMs > LATEST_STAMP_MS
    ? nowMs
    : newestMs + 1
}

/**
 * Put a copy into the trash. Durable when the promise resolves.
 * @param record - its JSON line.
 * @param file - the memory file; the copy keeps its time, so that undo can give it back.
 * @param nowMs - ms since the epoch.
 * @returns the path of the new file and the time in its name.
 * @throws MemoryError; no file of ours is left.
 */
export async function writeTrash(
  context: StoreContext,
  record: TrashRecord,
  file: TrashedFile,
  nowMs: number,
): Promise<TrashCopy> {
  const { fileSystem } = context
  const directory = await ensureTrash(context)
  const [newest] = await trashNames(context)
  for (let ms = stampAfter(newest?.trashedMs, nowMs); ; ms += 1) {
    const stamp = new Date(ms).toISOString().replaceAll(/[-:.]/gu, '')
    const path = join(directory, `${stamp}-${shortened(record.fileName)}.trash`)
    if ((await readStableBytes(path, { fileSystem })) !== undefined) continue
    const content = Buffer.concat([Buffer.from(`${JSON.stringify(record)}\n`), file.bytes])
    try {
      await writeFileAtomic(path, content, undefined, fileSystem)
    } catch (error) {
      // Visible, but not known to be durable.
      await fileSystem.rm(path, { force: true }).catch(() => undefined)
      throw error
    }
    const seconds = file.mtimeMs / 1000
    await fileSystem.utimes(path, seconds, seconds).catch(() => undefined)
    return { path, trashedMs: ms }
  }
}

/** @returns the record of a JSON line, or `undefined` when it is not one. */
function parseRecord(line: string): TrashRecord | undefined {
  let value: Partial<Record<keyof TrashRecord, unknown>> | null
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { fileName, title, indexLine, after, sessionId } = value
  if (!isSafeMemoryFileName(fileName)) return undefined
  return {
    fileName,
    title: typeof title === 'string' ? title : '',
    indexLine: typeof indexLine === 'string' ? indexLine : '',
    after: typeof after === 'string' ? after : null,
    sessionId: typeof sessionId === 'string' ? sessionId : null,
  }
}

async function readRecord(path: string, context: StoreContext): Promise<TrashRecord | undefined> {
  const handle = await context.fileSystem.open(path, SAFE_READ_FLAGS | constants.O_RDONLY)
  try {
    const buffer = Buffer.alloc(RECORD_MAX_BYTES)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    const end = buffer.subarray(0, bytesRead).indexOf('\n')
    return end < 0 ? undefined : parseRecord(buffer.toString('utf8', 0, end))
  } finally {
    await handle.close().catch(() => undefined)
  }
}

/** Names in the trash that are ours, newest first; `[]` when there is no trash. */
async function trashNames(context: StoreContext): Promise<{ name: string; trashedMs: number }[]> {
  let names: string[]
  try {
    const found = await context.fileSystem.readdir(trashDirectory(context), { withFileTypes: true })
    names = found.filter((item) => item.isFile()).map((item) => item.name)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return []
    throw readError(trashDirectory(context), error)
  }
  return names
    .flatMap((name) => {
      const trashedMs = trashedMsOf(name)
      return trashedMs === undefined ? [] : [{ name, trashedMs }]
    })
    .sort((one, other) => other.trashedMs - one.trashedMs || (one.name < other.name ? -1 : 1))
}

async function itemsOf(
  context: StoreContext,
  names: readonly { name: string; trashedMs: number }[],
  which: 'readable' | 'all',
): Promise<TrashItem[]> {
  const items: TrashItem[] = []
  for (const { name, trashedMs } of names) {
    const path = join(trashDirectory(context), name)
    try {
      const record = await readRecord(path, context)
      if (record !== undefined) items.push({ path, trashedMs, record })
    } catch (error) {
      if (which === 'all' && errnoOf(error) !== 'ENOENT') throw readError(path, error)
    }
  }
  return items
}

/**
 * List what can be had back, newest first. Files that are not of our form or cannot be read are left
 * out.
 * @throws MemoryError `READ_FAILED` when the trash cannot be read.
 */
export async function listTrash(context: StoreContext): Promise<TrashItem[]> {
  return itemsOf(context, await trashNames(context), 'readable')
}

/** A memory file as it was when it went into the trash. */
export type TrashedFile = Pick<StableBytes, 'bytes' | 'mtimeMs'>

/**
 * Read a trash item's memory file.
 * @returns its bytes and time as they were.
 * @throws MemoryError when it is gone or not of our form.
 */
export async function readTrashedFile(
  item: TrashItem,
  context: StoreContext,
): Promise<TrashedFile> {
  const read = await readStableBytes(item.path, { fileSystem: context.fileSystem })
  const end = read?.bytes.indexOf('\n') ?? -1
  if (read === undefined || end < 0) {
    throw new MemoryError('NOT_FOUND', `${item.path} is no longer in the trash`, {
      path: item.path,
    })
  }
  return { bytes: read.bytes.subarray(end + 1), mtimeMs: read.mtimeMs }
}

/**
 * The copies of one memory file, newest first. Only files of its name are opened.
 * @throws MemoryError `READ_FAILED` when one of them cannot be read.
 */
export async function copiesOf(context: StoreContext, fileName: string): Promise<TrashItem[]> {
  const suffix = `-${shortened(fileName)}.trash`
  const names = (await trashNames(context)).filter(({ name }) => name.endsWith(suffix))
  const items = await itemsOf(context, names, 'all')
  return items.filter(({ record }) => record.fileName === fileName)
}

/**
 * Whether a copy of a memory file is the same as it, byte by byte.
 * @throws MemoryError when that cannot be told.
 */
export async function hasCopyInTrash(
  context: StoreContext,
  fileName: string,
  bytes: Buffer,
): Promise<boolean> {
  for (const item of await copiesOf(context, fileName)) {
    if ((await readTrashedFile(item, context)).bytes.equals(bytes)) return true
  }
  return false
}

/**
 * The copy that was made last.
 * @throws MemoryError `READ_FAILED` when a file that may be a newer one cannot be read.
 */
export async function newestCopy(context: StoreContext): Promise<TrashItem | undefined> {
  for (const name of await trashNames(context)) {
    const [item] = await itemsOf(context, [name], 'all')
    if (item !== undefined) return item
  }
  return undefined
}

/**
 * Remove what is too old or too much. Never throws: it is tried again at the next forget.
 * @param nowMs - ms since the epoch.
 * @param keptPath - a copy that was just made: kept, whatever the clock says.
 */
export async function pruneTrash(
  context: StoreContext,
  nowMs: number,
  keptPath?: string,
): Promise<void> {
  try {
    const names = await trashNames(context)
    for (const [position, { name, trashedMs }] of names.entries()) {
      if (position < TRASH_KEEP_COUNT && nowMs - trashedMs <= TRASH_KEEP_DAYS * DAY_MS) continue
      const path = join(trashDirectory(context), name)
      if (path !== keptPath) await context.fileSystem.unlink(path)
    }
  } catch {
    // What stays is only kept longer.
  }
}

/** @returns until when an item can be had back, ms since the epoch. */
export function keptUntilMs(trashedMs: number): number {
  return trashedMs + TRASH_KEEP_DAYS * DAY_MS
}
