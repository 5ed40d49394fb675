/**
 * Forgetting a memory.
 *
 * Role: one transaction in an order that a crash cannot confuse: a copy in the
 * trash, then the index without the entry, then the file. A file with a twin in
 * the trash and no entry is a forget to finish. A purge has no copy and takes the
 * file first, so that a crash cannot look like a save to finish. Having it back
 * is the business of `undo.ts`.
 */
import { dirname } from 'node:path'
import { MemoryError } from '../errors.ts'
import type { RemovedIndexEntry } from '../format/index-file.ts'
import { removeIndexEntry, restoreIndexEntry, utf8BytesCodec } from '../format/index-file.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories, syncDirectory, writeError } from './directories.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { LocatedMemory, MemoryReference } from './locate.ts'
import { locateMemory } from './locate.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { holds, removeVersion } from './remove-version.ts'
import { restoreFile, withOutcome } from './rollback.ts'
import type { StableBytes } from './stable-read.ts'
import { keptUntilMs, listTrash, pruneTrash, writeTrash } from './trash.ts'
import { unconfirmedError } from './unconfirmed.ts'

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

/** @throws MemoryError `NOT_FOUND` when the project has no memory directory. */
export async function assertMemoryExists(context: StoreContext): Promise<void> {
  if (await checkDirectories(context.paths.root, context.fileSystem)) return
  throw new MemoryError('NOT_FOUND', `there is no memory yet in ${context.paths.root}`, {
    path: context.paths.root,
  })
}

/** The first error of several steps that are all carried out. */
class FirstError {
  error: unknown

  /** Run a step; its error is kept and not thrown. */
  async during(path: string, step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (cause) {
      this.error ??= writeError(path, cause)
    }
  }
}

/** What a forget that goes wrong leaves, for its error: nothing, no line, no file, or neither. */
type Stage = 'untouched' | 'unlisted' | 'removed' | 'done'

class Forgetting {
  readonly #context: StoreContext
  readonly #request: ForgetRequest
  #stage: Stage = 'untouched'
  #copy: { path: string; trashedMs: number; bytes: Buffer } | undefined
  #removed: RemovedIndexEntry | undefined
  /** What a purge has removed, in this try or an earlier one. */
  #purged: StableBytes | undefined
  /** What could not be flushed or tidied once the index without the entry was visible. */
  readonly #doubt = new FirstError()

  constructor(context: StoreContext, request: ForgetRequest) {
    this.#context = context
    this.#request = request
  }

  async attempt(lock: Lock): Promise<Attempt<ForgottenMemory>> {
    const index = await readIndexVersion(this.#context)
    const memory = await locateMemory(this.#context, this.#request, index.text)
    const { text, removed } = removeIndexEntry(index.text, memory.fileName, utf8BytesCodec)
    this.#removed = removed[0] ?? this.#removed
    const publish = (): Promise<boolean> =>
      text === index.text ? lock.isHeld() : publishIndex(this.#context, lock, index, text)
    const isDone =
      this.#request.purge === true
        ? await this.#purge(memory, publish, lock)
        : await this.#moveToTrash(memory, publish, lock)
    if (!isDone) return RETRY
    this.#stage = 'done'
    const { fileName, title } = memory
    if (this.#doubt.error !== undefined) {
      throw unconfirmedError('forgotten', memory.filePath, this.#doubt.error)
    }
    const undoUntilMs = this.#copy === undefined ? undefined : keptUntilMs(this.#copy.trashedMs)
    return { isDone: true, value: { fileName, title, undoUntilMs, trashPath: this.#copy?.path } }
  }

  /** @returns the error to report, with what has become of the memory. */
  report(error: unknown): unknown {
    if (!(error instanceof Error)) return error
    if (this.#stage === 'removed') {
      return withOutcome(error, 'the file was removed; forget it again to finish')
    }
    if (this.#stage !== 'unlisted') return error
    const rest = this.#copy === undefined ? 'doctor settles the rest' : 'its copy is in the trash'
    return withOutcome(error, `its index line is gone, ${rest}`)
  }

  #sync(): Promise<void> {
    const { fileSystem, paths } = this.#context
    return this.#doubt.during(paths.root, () => syncDirectory(paths.root, fileSystem))
  }

  /** Copy, line, file. @returns `false` when the lock was lost. */
  async #moveToTrash(
    memory: LocatedMemory,
    publish: () => Promise<boolean>,
    lock: Lock,
  ): Promise<boolean> {
    await this.#copyToTrash(memory)
    let isUnlisted = false
    try {
      isUnlisted = await publish()
    } finally {
      if (!isUnlisted && this.#stage === 'untouched') await this.#dropCopy()
    }
    if (!isUnlisted) return false
    this.#stage = 'unlisted'
    await this.#sync()
    if (memory.file !== undefined) {
      // The file may by now be another writer's new version.
      if (!(await lock.isHeld())) return false
      if (!(await this.#removeFile(memory.filePath, memory.file.bytes, lock))) return false
      await this.#sync()
    }
    await pruneTrash(this.#context, Date.now())
    return true
  }

  /** File, then line. @returns `false` when the lock was lost. */
  async #purge(
    memory: LocatedMemory,
    publish: () => Promise<boolean>,
    lock: Lock,
  ): Promise<boolean> {
    if (!(await lock.isHeld())) return false
    const { filePath } = memory
    if (memory.file !== undefined) {
      if (!(await this.#remove(filePath, memory.file.bytes))) return false
      this.#stage = 'removed'
      this.#purged = memory.file
      await this.#sync()
    }
    try {
      if (!(await publish())) return false
    } catch (error) {
      throw await this.#restoreFile(filePath, error)
    }
    this.#stage = 'done'
    await this.#sync()
    await pruneTrash(this.#context, Date.now())
    await this.#doubt.during(filePath, () => this.#purgeCopies(memory.fileName))
    return true
  }

  /** @returns `false` when the file is another version by now. */
  async #remove(path: string, bytes: Buffer): Promise<boolean> {
    try {
      return await removeVersion(path, bytes, this.#context.fileSystem)
    } catch (error) {
      throw writeError(path, error)
    }
  }

  /** Undo the first half of a purge. @returns the error to report. */
  async #restoreFile(filePath: string, cause: unknown): Promise<unknown> {
    const { fileSystem, paths } = this.#context
    const error = writeError(paths.root, cause)
    if (this.#purged === undefined || !(error instanceof Error)) return error
    try {
      if (!(await restoreFile(filePath, this.#purged, fileSystem))) return error
      await syncDirectory(paths.root, fileSystem)
    } catch {
      return error
    }
    this.#stage = 'untouched'
    return withOutcome(error, 'the memory is as before')
  }

  /** Does nothing for a version that an earlier try has copied. */
  async #copyToTrash({ file, fileName, title }: LocatedMemory): Promise<void> {
    if (file === undefined || this.#copy?.bytes.equals(file.bytes) === true) return
    await this.#dropCopy()
    const trashedMs = Date.now()
    const record = {
      fileName,
      title,
      indexLine: this.#removed?.line ?? '',
      after: this.#removed?.after ?? null,
      sessionId: this.#request.sessionId ?? null,
    }
    const path = await writeTrash(this.#context, record, file, trashedMs)
    this.#copy = { path, trashedMs, bytes: file.bytes }
  }

  /** A copy of a memory that is still there would look like a forget to finish. */
  async #dropCopy(): Promise<void> {
    if (this.#copy === undefined) return
    const { path } = this.#copy
    this.#copy = undefined
    await this.#context.fileSystem.rm(path, { force: true }).catch(() => undefined)
  }

  /**
   * Remove the file; when that fails the entry is put back, so that the memory is whole again.
   * @returns `false` when the file is another version by now.
   */
  async #removeFile(filePath: string, bytes: Buffer, lock: Lock): Promise<boolean> {
    try {
      return await this.#remove(filePath, bytes)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const { fileSystem } = this.#context
      const isThere = await holds(filePath, bytes, fileSystem).catch(() => false)
      if (!isThere || !(await this.#putEntryBack(lock).catch(() => false))) throw error
      this.#stage = 'untouched'
      await this.#dropCopy()
      throw withOutcome(error, 'the memory is as before')
    }
  }

  /** @returns whether the entry is durably there again. */
  async #putEntryBack(lock: Lock): Promise<boolean> {
    if (this.#removed === undefined) return true
    const { fileSystem, paths } = this.#context
    const index = await readIndexVersion(this.#context)
    const text = restoreIndexEntry(index.text, this.#removed, utf8BytesCodec)
    if (!(await publishIndex(this.#context, lock, index, text))) return false
    await syncDirectory(paths.root, fileSystem)
    return true
  }

  /** Remove every copy of a memory. */
  async #purgeCopies(fileName: string): Promise<void> {
    const { fileSystem } = this.#context
    const items = await listTrash(this.#context, 'all')
    for (const { path } of items.filter(({ record }) => record.fileName === fileName)) {
      try {
        await fileSystem.rm(path, { force: true })
        await syncDirectory(dirname(path), fileSystem)
      } catch (error) {
        throw writeError(path, error)
      }
    }
  }
}

/**
 * Forget a memory: no file, no line, a copy in the trash unless `purge`.
 * Durable when the promise resolves.
 * @throws MemoryError `NOT_FOUND` with the closest names, or why the disk or the lock refused; the
 *   memory is then as before, unless the message says that it was forgotten all the same or what is
 *   left to finish, which doctor names too.
 */
export async function forgetMemory(
  context: StoreContext,
  request: ForgetRequest,
): Promise<ForgottenMemory> {
  await assertMemoryExists(context)
  const forgetting = new Forgetting(context, request)
  try {
    return await runLocked(context, (lock) => forgetting.attempt(lock), request.signal)
  } catch (error) {
    throw forgetting.report(error)
  }
}
