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
import { assertSettled } from './aside.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import { memoryFilePath } from './file-name.ts'
import { assertMemoryExists } from './forget.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { holds } from './remove-version.ts'
import { restoreFile, rollBack, withOutcome } from './rollback.ts'
import { readStableBytes } from './stable-read.ts'
import { hasOurCopy } from './trash-copy.ts'
import type { TrashItem, TrashedFile } from './trash.ts'
import { copiesOf, newestCopy, readTrashedFile } from './trash.ts'
import { unconfirmedError } from './unconfirmed.ts'

/** A memory that was had back. */
export interface RestoredMemory {
  fileName: string
  filePath: string
  title: string
}

/** What an undo has made visible. */
interface Restored {
  item: TrashItem
  trashed: TrashedFile
  inode: string | undefined
}

class Undoing {
  readonly #context: StoreContext
  readonly #fileName: string | undefined
  /** Once the file is visible: what has been restored, also by an earlier try. */
  #restored: Restored | undefined

  constructor(context: StoreContext, fileName: string | undefined) {
    this.#context = context
    this.#fileName = fileName
  }

  async attempt(
    lock: Lock,
    unsettled: ReadonlyMap<string, unknown>,
  ): Promise<Attempt<RestoredMemory>> {
    const { item, trashed } = await this.#wanted()
    const { fileName, title } = item.record
    assertSettled(fileName, unsettled)
    const memory = { fileName, filePath: memoryFilePath(this.#context, fileName), title }
    try {
      if (!(await this.#publish(item, memory.filePath, trashed, lock))) return RETRY
    } catch (error) {
      throw await this.#takeBack(writeError(memory.filePath, error), lock)
    }
    this.#restored = undefined
    await this.#finish(item, memory.filePath)
    return { isDone: true, value: memory }
  }

  /** @returns the error to report. */
  report(error: unknown): unknown {
    if (this.#restored === undefined || !(error instanceof Error)) return error
    return withOutcome(error, 'the file is back, its index line may not be; undo again to finish')
  }

  /**
   * Remove the file of a try that ends without its line, as long as nobody else can have come to
   * count on it: under the lock and beside its copy.
   * @returns the error to report.
   */
  async #takeBack(cause: unknown, lock: Lock): Promise<unknown> {
    if (this.#restored === undefined) return cause
    const { inode, item, trashed } = this.#restored
    if (!(await hasOurCopy(this.#context, item.path, lock))) return cause
    const filePath = memoryFilePath(this.#context, item.record.fileName)
    const published = { filePath, content: trashed.bytes, inode, previous: undefined }
    const mayGo = (): Promise<boolean> => hasOurCopy(this.#context, item.path, lock)
    const file = { ...published, isVisible: true, mayGo }
    const error = await rollBack(this.#context, [file], cause)
    const version = { bytes: trashed.bytes, inode }
    const isThere = await holds(filePath, version, this.#context.fileSystem).catch(() => true)
    if (!isThere) this.#restored = undefined
    return isThere ? cause : error
  }

  /**
   * What is to be had back. The copy of a file that an earlier try has restored may be gone: another
   * undo has finished it, or a purge did not know of the file. It is finished here.
   */
  async #wanted(): Promise<{ item: TrashItem; trashed: TrashedFile }> {
    const { fileSystem } = this.#context
    const restored = this.#restored
    const fileName = this.#fileName ?? restored?.item.record.fileName
    const item =
      fileName === undefined
        ? await newestCopy(this.#context)
        : (await copiesOf(this.#context, fileName))[0]
    if (item !== undefined) return { item, trashed: await readTrashedFile(item, this.#context) }
    if (restored !== undefined) {
      const filePath = memoryFilePath(this.#context, restored.item.record.fileName)
      if (await holds(filePath, restored.trashed, fileSystem)) return restored
    }
    this.#restored = undefined
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
      const mayPublish = (): Promise<boolean> => hasOurCopy(this.#context, item.path, lock)
      const file = await restoreFile(filePath, trashed, fileSystem, mayPublish)
      if (file === undefined) return false
      this.#restored = { item, trashed, inode: file.inode }
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
  return runLocked(context, (lock, unsettled) => undoing.attempt(lock, unsettled), {
    signal,
    onFailure: (error) => undoing.report(error),
  })
}
