/**
 * Saving one or more memories in one transaction.
 *
 * Role: under the lock: read the index, write the memory files, flush the
 * directory once, then the index with all their lines in call order, flush
 * again. A save whose own file fails or is aborted drops out, the others go on.
 * Just before the index is published the lock must still be ours and the index
 * still the version that was read, otherwise everything is decided anew.
 */
import { MemoryError } from '../errors.ts'
import { upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { deriveDescription, renderMemoryFile } from '../format/memory-file.ts'
import type { IndexEntry } from '../types.ts'
import { abortError, throwIfAborted } from './abort.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, publishFile, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import { ensureDirectories, syncDirectory, writeError } from './directories.ts'
import { chooseFile } from './file-name.ts'
import type { IndexVersion } from './index-bytes.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import { sweepTemporaryFiles } from './litter.ts'
import type { Lock } from './lock.ts'
import { acquireLock } from './lock.ts'
import { reconcileIndex } from './reconcile.ts'
import type { PublishedFile } from './rollback.ts'
import { rollBack } from './rollback.ts'
import type { SaveRequest } from './save-request.ts'

/** Tries of a transaction whose lock or index changed under it; each waits for the lock anew. */
const TRANSACTION_ATTEMPTS = 5

/** A durable save. */
export interface CommittedSave {
  fileName: string
  filePath: string
  /** Size of the memory file in bytes. */
  bytes: number
  /** Whether an older memory of the same topic was replaced. */
  replaced: boolean
  /** The index line's parts as published. */
  entry: IndexEntry
  /** Latin1 view of the published index, shared by the saves of one transaction. */
  indexText: string
}

/** One save waiting for its outcome; exactly one of the two callbacks is called, once. */
export interface SaveJob {
  request: SaveRequest
  resolve: (saved: CommittedSave) => void
  reject: (error: unknown) => void
}

/** One save inside a transaction. */
interface Draft {
  job: SaveJob
  published: PublishedFile | undefined
  file: { fileName: string; filePath: string; content: Buffer; entry: IndexEntry } | undefined
}

type Attempt = 'published' | 'retry'

class SaveTransaction {
  readonly deferred: SaveJob[] = []
  readonly #context: StoreContext
  #drafts: Draft[]
  #indexText = ''

  constructor(context: StoreContext, jobs: readonly SaveJob[]) {
    this.#context = context
    this.#drafts = jobs.map((job) => ({ job, published: undefined, file: undefined }))
  }

  get isEmpty(): boolean {
    return this.#drafts.length === 0
  }

  /** Take a save out; what it has published is put back. */
  async #drop(draft: Draft, error: unknown): Promise<void> {
    this.#drafts = this.#drafts.filter((other) => other !== draft)
    const published = draft.published === undefined ? [] : [draft.published]
    draft.job.reject(await rollBack(this.#context, published, error))
  }

  /** Run a step of each save; one that fails or is aborted drops out. */
  async #forEach(step: (draft: Draft) => Promise<void>): Promise<void> {
    await mapBounded([...this.#drafts], async (draft) => {
      try {
        throwIfAborted(draft.job.request.signal)
        await step(draft)
      } catch (error) {
        await this.#drop(draft, error)
      }
    })
  }

  /** Choose the files one after the other, since each choice takes a name. */
  async #chooseFiles(index: IndexVersion): Promise<void> {
    const taken = new Map<string, string>()
    for (const draft of this.#drafts) {
      try {
        throwIfAborted(draft.job.request.signal)
        const chosen = await chooseFile(this.#context, draft.job.request.key, index.text, taken)
        if (chosen === 'taken') {
          this.#drafts = this.#drafts.filter((other) => other !== draft)
          this.deferred.push(draft.job)
          continue
        }
        const { fileName, filePath, topic, existing } = chosen
        taken.set(fileName, topic)
        const file = { fileName, filePath, ...renderSave(draft.job.request, fileName) }
        const isOurs = draft.published?.content.equals(existing?.bytes ?? Buffer.alloc(0)) ?? false
        if (!isOurs) draft.published = undefined
        draft.file = file
        draft.published ??= {
          filePath,
          content: file.content,
          previous: existing,
          isVisible: false,
        }
      } catch (error) {
        await this.#drop(draft, error)
      }
    }
  }

  /** Write and flush every file, then make them visible, if the lock is still ours. */
  async #publishFiles(lock: Lock): Promise<Attempt> {
    const { fileSystem, paths } = this.#context
    const staged = new Map<Draft, StagedFile>()
    await this.#forEach(async (draft) => {
      const { file, published } = draft
      if (file === undefined || published === undefined || published.isVisible) return
      const { signal } = draft.job.request
      staged.set(draft, await stageFile(file.filePath, file.content, { fileSystem, signal }))
    })
    if (!(await lock.isHeld())) {
      await mapBounded([...staged.values()], (file) => discardFile(file, fileSystem))
      return 'retry'
    }
    await this.#forEach(async (draft) => {
      const file = staged.get(draft)
      if (file === undefined || draft.published === undefined) return
      await publishFile(file, fileSystem)
      draft.published.isVisible = true
    })
    if (!this.isEmpty) await syncDirectory(paths.root, fileSystem)
    return 'published'
  }

  /** One run under a held lock. */
  async attempt(lock: Lock): Promise<Attempt> {
    const index = await readIndexVersion(this.#context)
    await this.#chooseFiles(index)
    if ((await this.#publishFiles(lock)) === 'retry') return 'retry'
    await this.#forEach(async () => {})
    if (this.isEmpty) return 'published'
    const entries = this.#drafts.map((draft) => fileOf(draft).entry)
    const { text } = upsertIndexEntries(index.text, entries, utf8BytesCodec)
    if (text !== index.text) {
      if (!(await publishIndex(this.#context, lock, index, text))) return 'retry'
      await this.#confirmIndex()
    }
    this.#indexText = text
    return 'published'
  }

  async #confirmIndex(): Promise<void> {
    const { fileSystem, paths } = this.#context
    try {
      await syncDirectory(paths.root, fileSystem)
    } catch (error) {
      for (const draft of this.#drafts) draft.published = undefined
      const cause = writeError(paths.root, error)
      const reason = cause instanceof MemoryError ? cause.message : 'unknown error'
      throw new MemoryError(
        'WRITE_FAILED',
        `the memory was written, but the disk did not confirm it: ${reason}`,
        { path: paths.root, cause: error },
      )
    }
  }

  /** Tell every save that is left that it is durable. */
  settle(): void {
    for (const draft of this.#drafts) {
      const { fileName, filePath, content, entry } = fileOf(draft)
      const replaced = draft.published?.previous !== undefined
      draft.job.resolve({
        fileName,
        filePath,
        bytes: content.length,
        replaced,
        entry,
        indexText: this.#indexText,
      })
    }
    this.#drafts = []
  }

  /** Put everything back and tell every save that is left why. */
  async fail(cause: unknown): Promise<void> {
    const error = writeError(this.#context.paths.root, cause)
    const published = this.#drafts.flatMap((draft) => draft.published ?? [])
    const reported = await rollBack(this.#context, published, error)
    for (const draft of this.#drafts) draft.job.reject(reported)
    this.#drafts = []
  }

  /** The files and lines that must be there once the transaction has ended. */
  get entries(): IndexEntry[] {
    return this.#drafts.map((draft) => fileOf(draft).entry)
  }
}

function fileOf(draft: Draft): NonNullable<Draft['file']> {
  if (draft.file === undefined)
    throw new TypeError('a draft was published before its file was chosen')
  return draft.file
}

/** Render a save's file and index line. */
function renderSave(
  request: SaveRequest,
  fileName: string,
): { content: Buffer; entry: IndexEntry } {
  const description = request.description ?? deriveDescription(request.content)
  const text = renderMemoryFile({
    name: fileName.slice(0, -'.md'.length),
    title: request.key,
    description,
    type: request.type,
    body: request.content,
    ...(request.originSessionId === undefined ? {} : { originSessionId: request.originSessionId }),
  })
  return {
    content: Buffer.from(text, 'utf8'),
    entry: { title: request.key, fileName, hook: description },
  }
}

/** A signal that aborts when every save of the group was given up, so that waiting for the lock can end. */
function allAborted(jobs: readonly SaveJob[]): { signal: AbortSignal; dispose: () => void } {
  const controller = new AbortController()
  const onAbort = (): void => {
    const signals = jobs.map((job) => job.request.signal)
    const last = signals.at(-1)
    if (last !== undefined && signals.every((signal) => signal?.aborted === true)) {
      controller.abort(abortError(last))
    }
  }
  for (const { request } of jobs) request.signal?.addEventListener('abort', onAbort)
  onAbort()
  const dispose = (): void => {
    for (const { request } of jobs) request.signal?.removeEventListener('abort', onAbort)
  }
  return { signal: controller.signal, dispose }
}

/**
 * Run a group of saves as one transaction and settle each of them.
 * @returns saves that must run after this group, because an earlier one writes the same file.
 *   Never rejects: failures reach the jobs.
 */
export async function runSaveGroup(
  context: StoreContext,
  jobs: readonly SaveJob[],
): Promise<SaveJob[]> {
  const transaction = new SaveTransaction(context, jobs)
  const { signal, dispose } = allAborted(jobs)
  try {
    await ensureDirectories(context.paths.root, context.fileSystem)
    const isDone = await runAttempts(context, transaction, signal)
    if (!isDone) throw lostError(context)
    transaction.settle()
  } catch (error) {
    await transaction.fail(error)
  } finally {
    dispose()
  }
  return transaction.deferred
}

async function runAttempts(
  context: StoreContext,
  transaction: SaveTransaction,
  signal: AbortSignal,
): Promise<boolean> {
  const { fileSystem, lockPath, lockTimes: times } = context
  for (let attempt = 0; attempt < TRANSACTION_ATTEMPTS; attempt += 1) {
    const startedMs = Date.now()
    const lock = await acquireLock(lockPath, { fileSystem, signal, times })
    let outcome: Attempt
    let wasHeld: boolean
    try {
      await sweepTemporaryFiles(context, lock)
      outcome = await transaction.attempt(lock)
    } catch (error) {
      await transaction.fail(error)
      return true
    } finally {
      wasHeld = await lock.isHeld()
      await lock.release()
    }
    if (outcome === 'published') {
      if (!wasHeld) await reconcileIndex(context, transaction.entries, startedMs)
      return true
    }
  }
  return false
}

function lostError({ lockPath }: StoreContext): MemoryError {
  return new MemoryError(
    'LOCK_LOST',
    `the lock ${lockPath} was taken over ${TRANSACTION_ATTEMPTS} times while saving; try again`,
    { path: lockPath },
  )
}
