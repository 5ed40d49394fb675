/**
 * Having a forgotten memory back.
 *
 * Role: the way of a forget backwards: file with its time, line, then the copy
 * goes. Never overwrites: a file that exists again with other bytes is left alone.
 */
import { dirname } from 'node:path'
import { MemoryError } from '../errors.ts'
import {
  findIndexEntries,
  restoreIndexEntry,
  upsertIndexEntries,
  utf8BytesCodec,
} from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import { memoryFilePath } from './file-name.ts'
import { assertMemoryExists } from './forget.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import type { PublishedFile } from './rollback.ts'
import { restoreFile, rollBack } from './rollback.ts'
import { readStableBytes } from './stable-read.ts'
import type { TrashItem, TrashedFile } from './trash.ts'
import { listTrash, readTrashedFile } from './trash.ts'
import { unconfirmedError } from './unconfirmed.ts'

/** A memory that was had back. */
export interface RestoredMemory {
  fileName: string
  filePath: string
  title: string
}

class Undoing {
  readonly #context: StoreContext
  readonly #fileName: string | undefined
  /** The file once it is visible, also from an earlier try: what has to go again when the line fails. */
  #published: PublishedFile | undefined

  constructor(context: StoreContext, fileName: string | undefined) {
    this.#context = context
    this.#fileName = fileName
  }

  async attempt(lock: Lock): Promise<Attempt<RestoredMemory>> {
    const item = await this.#wantedItem()
    const { fileName, title } = item.record
    const filePath = memoryFilePath(this.#context, fileName)
    const trashed = await readTrashedFile(item, this.#context)
    try {
      if (!(await this.#publish(item, filePath, trashed, lock))) return RETRY
    } catch (error) {
      throw await this.takeBack(writeError(filePath, error))
    }
    this.#published = undefined
    await this.#finish(item, filePath)
    return { isDone: true, value: { fileName, filePath, title } }
  }

  /** Remove the file of an undo that ends without its line. @returns the error to report. */
  async takeBack(error: unknown): Promise<unknown> {
    const published = this.#published === undefined ? [] : [this.#published]
    this.#published = undefined
    return rollBack(this.#context, published, error)
  }

  async #wantedItem(): Promise<TrashItem> {
    const items = await listTrash(this.#context, 'all')
    const wanted = this.#fileName
    const item = items.find(({ record }) => wanted === undefined || record.fileName === wanted)
    if (item !== undefined) return item
    throw new MemoryError('NOT_FOUND', 'nothing to undo: no such memory is in the trash')
  }

  /** File, durable, then line. @returns `false` when the lock was lost or another file took the name. */
  async #publish(
    item: TrashItem,
    filePath: string,
    trashed: TrashedFile,
    lock: Lock,
  ): Promise<boolean> {
    const { bytes } = trashed
    const { fileSystem, paths } = this.#context
    const present = await readStableBytes(filePath, { fileSystem })
    if (present !== undefined && !present.bytes.equals(bytes)) throw existsAgain(filePath)
    const index = await readIndexVersion(this.#context)
    if (!(await lock.isHeld())) return false
    if (present === undefined) {
      if (!(await restoreFile(filePath, trashed, fileSystem))) return false
      this.#published = { filePath, content: bytes, previous: undefined, isVisible: true }
      await syncDirectory(paths.root, fileSystem)
    }
    const text = withEntry(index.text, item, bytes)
    return text === index.text || publishIndex(this.#context, lock, index, text)
  }

  /** Memory and line are visible; what fails from here on cannot undo that. */
  async #finish({ path }: TrashItem, filePath: string): Promise<void> {
    const { fileSystem, paths } = this.#context
    let at = paths.root
    try {
      await syncDirectory(at, fileSystem)
      at = path
      await fileSystem.rm(path, { force: true })
      await syncDirectory(dirname(path), fileSystem)
    } catch (error) {
      throw unconfirmedError('restored', filePath, writeError(at, error))
    }
  }
}

function existsAgain(filePath: string): MemoryError {
  return new MemoryError(
    'INVALID_ARGUMENT',
    `${filePath} exists again and is not overwritten; forget or rename it first`,
    { path: filePath },
  )
}

function withEntry(indexText: string, { record }: TrashItem, bytes: Buffer): string {
  const { after, fileName, indexLine } = record
  if (findIndexEntries(indexText, fileName, utf8BytesCodec).length > 0) return indexText
  if (indexLine !== '') {
    const removed = { line: indexLine, after: after ?? undefined }
    return restoreIndexEntry(indexText, removed, utf8BytesCodec)
  }
  const { description = '', title = record.title } = readMemoryHeader(bytes.toString('utf8'))
  const entry = { title: title === '' ? fileName : title, fileName, hook: description }
  return upsertIndexEntries(indexText, [entry], utf8BytesCodec).text
}

/**
 * Have a forgotten memory back: file, line and place. Durable when the promise resolves.
 * @param fileName - which one; without it the one that was forgotten last.
 * @throws MemoryError `NOT_FOUND` when the trash has none, `INVALID_ARGUMENT` when a file of that
 *   name exists again: it is not overwritten; or why the disk or the lock refused: all is then as
 *   before, unless the message says otherwise.
 */
export async function undoForget(
  context: StoreContext,
  fileName?: string,
  signal?: AbortSignal,
): Promise<RestoredMemory> {
  await assertMemoryExists(context)
  const undoing = new Undoing(context, fileName)
  try {
    return await runLocked(context, (lock) => undoing.attempt(lock), signal)
  } catch (error) {
    throw await undoing.takeBack(error)
  }
}
