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
import { assertSettled } from './aside.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories, syncDirectory, writeError } from './directories.ts'
import { FirstError } from './first-error.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { LocatedMemory, MemoryReference } from './locate.ts'
import { locateCopied, locateMemory } from './locate.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { holds, removeVersion, sameFile } from './remove-version.ts'
import { restoreFile, withOutcome } from './rollback.ts'
import type { StableBytes } from './stable-read.ts'
import { dropNeedlessCopy, hasOurCopy } from './trash-copy.ts'
import type { TrashCopy } from './trash.ts'
import { copiesOf, keptUntilMs, pruneTrash, writeTrash } from './trash.ts'
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

/** What a forget that goes wrong leaves, for its error: nothing, no line, no file, or neither. */
type Stage = 'untouched' | 'unlisted' | 'removed' | 'done'

class Forgetting {
  readonly #context: StoreContext
  readonly #request: ForgetRequest
  #stage: Stage = 'untouched'
  /** The memory, once an earlier try has begun with it. */
  #begun: LocatedMemory | undefined
  #copy: (TrashCopy & { bytes: Buffer }) | undefined
  /** Copies that a purge is to remove; one that is made later is not meant. */
  #olderCopies: readonly TrashCopy[] | undefined
  #removed: RemovedIndexEntry | undefined
  /** What could not be flushed or tidied once the index without the entry was visible. */
  #doubt = new FirstError()

  constructor(context: StoreContext, request: ForgetRequest) {
    this.#context = context
    this.#request = request
  }

  async attempt(
    lock: Lock,
    unsettled: ReadonlyMap<string, unknown>,
  ): Promise<Attempt<ForgottenMemory>> {
    this.#doubt = new FirstError()
    const index = await readIndexVersion(this.#context)
    const memory = await this.#locate(index.text)
    if (memory === undefined) {
      return this.#forgottenBefore(lock, unsettled)
    }
    assertSettled(memory.fileName, unsettled)
    const { text, removed } = removeIndexEntry(index.text, memory.fileName, utf8BytesCodec)
    this.#lookAround(memory, removed[0])
    const publish = (): Promise<boolean> =>
      text === index.text ? lock.isHeld() : publishIndex(this.#context, lock, index, text)
    const isPurge = this.#request.purge === true
    if (isPurge) this.#olderCopies ??= await copiesOf(this.#context, memory.fileName)
    const isDone = isPurge
      ? await this.#purge(memory, publish, lock)
      : await this.#moveToTrash(memory, publish, lock)
    if (!isDone) return RETRY
    this.#stage = 'done'
    if (this.#doubt.error !== undefined) {
      throw unconfirmedError('forgotten', memory.filePath, this.#doubt.error)
    }
    return { isDone: true, value: forgotten(memory, this.#copy) }
  }

  /** What an earlier try has left may be there again: another process has saved or undone. */
  #lookAround({ file }: LocatedMemory, entry: RemovedIndexEntry | undefined): void {
    const isBack = this.#stage === 'unlisted' ? entry !== undefined : file !== undefined
    if (isBack) this.#stage = 'untouched'
    this.#removed = entry ?? this.#removed
  }

  /** @returns `undefined` when the memory is gone, but for copies or since an earlier try. */
  async #locate(indexText: string): Promise<LocatedMemory | undefined> {
    try {
      return await locateMemory(this.#context, this.#request, indexText)
    } catch (error) {
      const isMissing = error instanceof MemoryError && error.code === 'NOT_FOUND'
      if (!isMissing) throw error
      if (this.#request.purge === true)
        this.#begun ??= await locateCopied(this.#context, this.#request)
      if (this.#begun === undefined) throw error
      return undefined
    }
  }

  /** The rest of a forget whose file and line are gone. */
  async #forgottenBefore(
    lock: Lock,
    unsettled: ReadonlyMap<string, unknown>,
  ): Promise<Attempt<ForgottenMemory>> {
    const memory = this.#begun as LocatedMemory
    assertSettled(memory.fileName, unsettled)
    await syncDirectory(this.#context.paths.root, this.#context.fileSystem)
    this.#stage = 'done'
    const copies = await copiesOf(this.#context, memory.fileName)
    if (this.#request.purge !== true) return { isDone: true, value: forgotten(memory, copies[0]) }
    this.#olderCopies ??= copies
    await this.#purgeCopies(lock)
    // Another process may have undone the forget with a copy before that went.
    return (await lock.isHeld()) ? { isDone: true, value: forgotten(memory, undefined) } : RETRY
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
    this.#begun = memory
    await this.#copyToTrash(memory)
    let isUnlisted = false
    try {
      isUnlisted = await publish()
    } finally {
      if (!isUnlisted && this.#stage === 'untouched') await this.#dropCopy(memory, lock)
    }
    if (!isUnlisted) return false
    this.#stage = 'unlisted'
    await this.#sync()
    if (memory.file !== undefined) {
      if (!(await this.#removeFile(memory, memory.file, lock))) return false
      await this.#sync()
    }
    await pruneTrash(this.#context, Date.now(), this.#copy?.path)
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
      if (!(await this.#remove(filePath, memory.file, () => lock.isHeld()))) return false
      this.#stage = 'removed'
      this.#begun = memory
      await this.#sync()
    }
    try {
      if (!(await publish())) return false
    } catch (error) {
      throw await this.#restoreFile(filePath, lock, error)
    }
    await this.#sync()
    await pruneTrash(this.#context, Date.now())
    await this.#doubt.during(filePath, () => this.#purgeCopies(lock))
    return true
  }

  /** @returns `false` when the file is another version by now, or may not go any more. */
  async #remove(path: string, file: StableBytes, mayGo: () => Promise<boolean>): Promise<boolean> {
    try {
      return await removeVersion(path, sameFile(file), this.#context.fileSystem, { mayGo })
    } catch (error) {
      throw writeError(path, error)
    }
  }

  /** Undo the first half of a purge. @returns the error to report. */
  async #restoreFile(filePath: string, lock: Lock, cause: unknown): Promise<unknown> {
    const { fileSystem, paths } = this.#context
    const error = writeError(paths.root, cause)
    if (this.#begun?.file === undefined || !(error instanceof Error)) return error
    try {
      const mayPublish = (): Promise<boolean> => lock.isHeld()
      if (!(await restoreFile(filePath, this.#begun.file, fileSystem, mayPublish))) return error
    } catch {
      return error
    }
    return this.#asBefore(error)
  }

  /** All is visible as it was. @returns the error to report. */
  async #asBefore(error: Error): Promise<Error> {
    const { fileSystem, paths } = this.#context
    this.#stage = 'untouched'
    try {
      await syncDirectory(paths.root, fileSystem)
    } catch {
      return withOutcome(error, 'the memory is as before, but that could not be confirmed')
    }
    return withOutcome(error, 'the memory is as before')
  }

  /** Copy what there is; an equal copy of an earlier try goes, if it is there still. */
  async #copyToTrash({ file, fileName, title }: LocatedMemory): Promise<void> {
    if (file === undefined) return
    const earlier = this.#copy
    const record = {
      fileName,
      title,
      indexLine: this.#removed?.line ?? '',
      after: this.#removed?.after ?? null,
      sessionId: this.#request.sessionId ?? null,
    }
    const copy = await writeTrash(this.#context, record, file, Date.now())
    this.#copy = { ...copy, bytes: file.bytes }
    if (earlier?.bytes.equals(file.bytes) !== true) return
    await this.#context.fileSystem.rm(earlier.path, { force: true }).catch(() => undefined)
  }

  async #dropCopy({ file, filePath }: LocatedMemory, lock: Lock): Promise<void> {
    if (this.#copy === undefined || file === undefined) return
    await dropNeedlessCopy(this.#context, this.#copy.path, { file, filePath }, lock)
  }

  /**
   * Remove the file; when that fails the entry is put back, so that the memory is whole again.
   * @returns `false` when the file is another version by now, or its copy or the lock is gone.
   */
  async #removeFile(memory: LocatedMemory, file: StableBytes, lock: Lock): Promise<boolean> {
    const { filePath } = memory
    const path = this.#copy?.path ?? ''
    try {
      return await this.#remove(filePath, file, () => hasOurCopy(this.#context, path, lock))
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const { fileSystem } = this.#context
      const isThere = await holds(filePath, sameFile(file), fileSystem).catch(() => false)
      if (!isThere || !(await this.#putEntryBack(lock).catch(() => false))) throw error
      const reported = await this.#asBefore(error)
      await this.#dropCopy(memory, lock)
      throw reported
    }
  }

  /** @returns whether the entry is there again. */
  async #putEntryBack(lock: Lock): Promise<boolean> {
    if (this.#removed === undefined) return true
    const index = await readIndexVersion(this.#context)
    const text = restoreIndexEntry(index.text, this.#removed, utf8BytesCodec)
    return publishIndex(this.#context, lock, index, text)
  }

  /** Remove the copies that there were when the purge began, as long as nobody else may use them. */
  async #purgeCopies(lock: Lock): Promise<void> {
    const { fileSystem } = this.#context
    for (const { path } of this.#olderCopies ?? []) {
      try {
        if (!(await lock.isHeld())) throw lostLock(path)
        await fileSystem.rm(path, { force: true })
        await syncDirectory(dirname(path), fileSystem)
      } catch (error) {
        throw writeError(path, error)
      }
    }
  }
}

function lostLock(path: string): MemoryError {
  const message = `the lock was lost before the copy ${path} could be removed; purge again`
  return new MemoryError('LOCK_LOST', message, { path })
}

function forgotten(
  { fileName, title }: LocatedMemory,
  copy: TrashCopy | undefined,
): ForgottenMemory {
  const undoUntilMs = copy === undefined ? undefined : keptUntilMs(copy.trashedMs)
  return { fileName, title, undoUntilMs, trashPath: copy?.path }
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
  return runLocked(context, (lock, unsettled) => forgetting.attempt(lock, unsettled), {
    signal: request.signal,
    onFailure: (error) => forgetting.report(error),
  })
}
