/**
 * Forgetting a memory and having it back.
 *
 * Role: one transaction in an order that a crash cannot confuse: a copy in the
 * trash, then the index without the entry, then the file. A file with a twin in
 * the trash and no entry is a forget to finish. Undo goes the other way and
 * never overwrites.
 */
import { MemoryError } from '../errors.ts'
import type { RemovedIndexEntry } from '../format/index-file.ts'
import {
  findIndexEntries,
  removeIndexEntry,
  restoreIndexEntry,
  upsertIndexEntries,
  utf8BytesCodec,
} from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import { writeFileAtomic } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories, syncDirectory, writeError } from './directories.ts'
import { memoryFilePath } from './file-name.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { LocatedMemory, MemoryReference } from './locate.ts'
import { locateMemory } from './locate.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { readStableBytes } from './stable-read.ts'
import type { TrashItem } from './trash.ts'
import { keptUntilMs, listTrash, pruneTrash, readTrashedBytes, writeTrash } from './trash.ts'

/** A request to forget. */
export interface ForgetRequest extends MemoryReference {
  /** Keep nothing in the trash, older copies of the same file included. */
  purge?: boolean | undefined
  sessionId?: string | undefined
  signal?: AbortSignal | undefined
}

/** A durable forget. */
export interface ForgottenMemory {
  fileName: string
  title: string
  /** Until when it can be had back, ms since the epoch; `undefined` when nothing was kept. */
  undoUntilMs: number | undefined
  trashPath: string | undefined
}

/** A memory that was had back. */
export interface RestoredMemory {
  fileName: string
  filePath: string
  title: string
}

async function assertMemoryExists(context: StoreContext): Promise<void> {
  if (await checkDirectories(context.paths.root, context.fileSystem)) return
  throw new MemoryError('NOT_FOUND', `there is no memory yet in ${context.paths.root}`, {
    path: context.paths.root,
  })
}

/** Remove a file that may be gone already; durable when the promise resolves. */
async function removeFile(path: string, context: StoreContext): Promise<void> {
  try {
    await context.fileSystem.rm(path, { force: true })
    await syncDirectory(context.paths.root, context.fileSystem)
  } catch (error) {
    throw writeError(path, error)
  }
}

class Forgetting {
  readonly #context: StoreContext
  readonly #request: ForgetRequest
  #copy: { path: string; trashedMs: number } | undefined
  #removed: RemovedIndexEntry | undefined

  constructor(context: StoreContext, request: ForgetRequest) {
    this.#context = context
    this.#request = request
  }

  async attempt(lock: Lock): Promise<Attempt<ForgottenMemory>> {
    await this.#dropCopy()
    const index = await readIndexVersion(this.#context)
    const memory = await locateMemory(this.#context, this.#request, index.text)
    const { text, removed } = removeIndexEntry(index.text, memory.fileName, utf8BytesCodec)
    this.#removed = removed[0]
    const isDone =
      this.#request.purge === true
        ? await this.#purge(memory, () => this.#publish(lock, index, text), lock)
        : await this.#moveToTrash(memory, () => this.#publish(lock, index, text), lock)
    if (!isDone) return RETRY
    await this.#tidy(memory.fileName)
    const { fileName, title } = memory
    const undoUntilMs = this.#copy === undefined ? undefined : keptUntilMs(this.#copy.trashedMs)
    return { isDone: true, value: { fileName, title, undoUntilMs, trashPath: this.#copy?.path } }
  }

  async #publish(
    lock: Lock,
    index: Awaited<ReturnType<typeof readIndexVersion>>,
    text: string,
  ): Promise<boolean> {
    if (text === index.text) return lock.isHeld()
    if (!(await publishIndex(this.#context, lock, index, text))) return false
    await syncDirectory(this.#context.paths.root, this.#context.fileSystem)
    return true
  }

  /** Copy, line, file. @returns `false` when the lock was lost. */
  async #moveToTrash(
    memory: LocatedMemory,
    publish: () => Promise<boolean>,
    lock: Lock,
  ): Promise<boolean> {
    await this.#copyToTrash(memory)
    try {
      if (!(await publish())) return false
      await this.#removeMemoryFile(memory, lock)
      return true
    } catch (error) {
      await this.#dropCopy()
      throw error
    }
  }

  /**
   * File, then line: without a copy, a crash in between must not look like a
   * save to finish. @returns `false` when the lock was lost.
   */
  async #purge(
    { file, filePath }: LocatedMemory,
    publish: () => Promise<boolean>,
    lock: Lock,
  ): Promise<boolean> {
    if (!(await lock.isHeld())) return false
    if (file !== undefined) await removeFile(filePath, this.#context)
    try {
      return await publish()
    } catch (error) {
      if (file !== undefined) {
        await writeFileAtomic(filePath, file.bytes, undefined, this.#context.fileSystem)
      }
      throw error
    }
  }

  async #copyToTrash({ file, fileName, title }: LocatedMemory): Promise<void> {
    if (file === undefined) return
    const trashedMs = Date.now()
    const record = {
      fileName,
      title,
      indexLine: this.#removed?.line ?? '',
      after: this.#removed?.after ?? null,
      sessionId: this.#request.sessionId ?? null,
    }
    const path = await writeTrash(this.#context, record, file.bytes, trashedMs)
    this.#copy = { path, trashedMs }
  }

  async #dropCopy(): Promise<void> {
    if (this.#copy !== undefined)
      await removeFile(this.#copy.path, this.#context).catch(() => undefined)
    this.#copy = undefined
  }

  /** Unlink the file; when that fails the entry is put back, so that the memory is whole again. */
  async #removeMemoryFile({ file, filePath }: LocatedMemory, lock: Lock): Promise<void> {
    if (file === undefined) return
    try {
      await removeFile(filePath, this.#context)
    } catch (error) {
      if (this.#removed !== undefined)
        await this.#putEntryBack(this.#removed, lock).catch(() => undefined)
      throw error
    }
  }

  async #putEntryBack(removed: RemovedIndexEntry, lock: Lock): Promise<void> {
    const index = await readIndexVersion(this.#context)
    const text = restoreIndexEntry(index.text, removed, utf8BytesCodec)
    await publishIndex(this.#context, lock, index, text)
    await syncDirectory(this.#context.paths.root, this.#context.fileSystem)
  }

  /** Old trash goes; with `purge` also every copy of this memory. */
  async #tidy(fileName: string): Promise<void> {
    await pruneTrash(this.#context, Date.now())
    if (this.#request.purge !== true) return
    for (const { path, record } of await listTrash(this.#context)) {
      if (record.fileName === fileName) await removeFile(path, this.#context)
    }
  }
}

/**
 * Forget a memory: no file, no line, a copy in the trash unless `purge`.
 * Durable when the promise resolves.
 * @throws MemoryError `NOT_FOUND` with the closest names, or why the disk or the lock refused: the
 *   memory is then as before, or doctor names what is left to finish.
 */
export async function forgetMemory(
  context: StoreContext,
  request: ForgetRequest,
): Promise<ForgottenMemory> {
  await assertMemoryExists(context)
  const forgetting = new Forgetting(context, request)
  const { value } = await runLocked(context, (lock) => forgetting.attempt(lock), request.signal)
  return value
}

async function restore(
  context: StoreContext,
  item: TrashItem,
  lock: Lock,
): Promise<Attempt<RestoredMemory>> {
  const { fileName, title, indexLine, after } = item.record
  const filePath = memoryFilePath(context, fileName)
  const bytes = await readTrashedBytes(item, context)
  const present = await readStableBytes(filePath, { fileSystem: context.fileSystem })
  if (present !== undefined && !present.bytes.equals(bytes)) {
    throw new MemoryError(
      'INVALID_ARGUMENT',
      `${filePath} exists again and is not overwritten; forget or rename it first`,
      { path: filePath },
    )
  }
  const index = await readIndexVersion(context)
  if (!(await lock.isHeld())) return RETRY
  if (present === undefined) await writeFileAtomic(filePath, bytes, undefined, context.fileSystem)
  const text = withEntry(index.text, item, bytes, { line: indexLine, after: after ?? undefined })
  if (text !== index.text) {
    if (!(await publishIndex(context, lock, index, text))) return RETRY
    await syncDirectory(context.paths.root, context.fileSystem)
  }
  await removeFile(item.path, context)
  return { isDone: true, value: { fileName, filePath, title } }
}

function withEntry(
  indexText: string,
  { record }: TrashItem,
  bytes: Buffer,
  removed: RemovedIndexEntry,
): string {
  if (findIndexEntries(indexText, record.fileName, utf8BytesCodec).length > 0) return indexText
  if (removed.line !== '') return restoreIndexEntry(indexText, removed, utf8BytesCodec)
  const { description = '', title = record.title } = readMemoryHeader(bytes.toString('utf8'))
  const entry = {
    title: title === '' ? record.fileName : title,
    fileName: record.fileName,
    hook: description,
  }
  return upsertIndexEntries(indexText, [entry], utf8BytesCodec).text
}

/**
 * Have a forgotten memory back: file, line and place. Durable when the promise resolves.
 * @param fileName - which one; without it the one that was forgotten last.
 * @throws MemoryError `NOT_FOUND` when the trash has none, `INVALID_ARGUMENT` when a file of that
 *   name exists again: it is not overwritten.
 */
export async function undoForget(
  context: StoreContext,
  fileName?: string,
  signal?: AbortSignal,
): Promise<RestoredMemory> {
  await assertMemoryExists(context)
  const attempt = async (lock: Lock): Promise<Attempt<RestoredMemory>> => {
    const items = await listTrash(context)
    const item = items.find(({ record }) => fileName === undefined || record.fileName === fileName)
    if (item === undefined) {
      throw new MemoryError('NOT_FOUND', 'nothing to undo: no such memory is in the trash')
    }
    return restore(context, item, lock)
  }
  return (await runLocked(context, attempt, signal)).value
}
