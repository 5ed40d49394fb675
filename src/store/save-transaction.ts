/**
 * Saving one or more memories in one transaction.
 *
 * Role: under the lock: read the index, write the memory files, flush the
 * directory once, then the index with all their lines in call order, flush
 * again. A save whose own file fails or is aborted drops out, the others go on.
 * Just before the index is published the lock must still be ours and the index
 * still the version that was read, otherwise everything is decided anew.
 * Taking the lock is the business of `save-group.ts`.
 */
import { MemoryError } from '../errors.ts'
import { upsertIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import type { IndexEntry } from '../types.ts'
import { abortError, throwIfAborted } from './abort.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, publishFile, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { ChosenFile } from './file-name.ts'
import { chooseFile } from './file-name.ts'
import type { IndexVersion } from './index-bytes.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { Lock } from './lock.ts'
import { putBack, rollBack } from './rollback.ts'
import type { Draft, SaveJob } from './save-draft.ts'
import { fileOf, renderSave } from './save-draft.ts'

export type { CommittedSave, SaveJob } from './save-draft.ts'

/** What a try came to; after `retry` nothing of it is lost or doubled by another one. */
export type SaveAttempt = 'published' | 'retry'

/** A group of saves between their first try and their outcomes. */
export class SaveTransaction {
  /** Saves that must run after this transaction, because an earlier one writes the same file. */
  readonly deferred: SaveJob[] = []
  readonly #context: StoreContext
  #drafts: Draft[]
  #indexText = ''
  /** Whether files and lines are visible, so that going back is no longer possible. */
  #isCommitted = false
  /** Told at the end: a caller that exits at once must not leave a lock behind. */
  readonly #failures: { job: SaveJob; error: unknown }[] = []

  constructor(context: StoreContext, jobs: readonly SaveJob[]) {
    this.#context = context
    this.#drafts = jobs.map((job) => ({ job, published: undefined, file: undefined }))
  }

  get isEmpty(): boolean {
    return this.#drafts.length === 0
  }

  /** Whether nobody waits for this transaction any more. */
  get isGivenUp(): boolean {
    return this.#drafts.every(({ job }) => job.request.signal?.aborted === true)
  }

  /** The lines that must be there once the transaction has ended. */
  get entries(): IndexEntry[] {
    return this.#drafts.map((draft) => fileOf(draft).entry)
  }

  /** Between two tries: take out the aborted saves that have nothing on the disk. */
  dropAborted(): void {
    for (const draft of this.#drafts) {
      const { signal } = draft.job.request
      if (signal?.aborted !== true || draft.published?.isVisible === true) continue
      this.#takeOut(draft)
      draft.job.reject(abortError(signal))
    }
  }

  #takeOut(draft: Draft): void {
    this.#drafts = this.#drafts.filter((other) => other !== draft)
  }

  /** Take a save out; what it has published is put back. */
  async #drop(draft: Draft, error: unknown): Promise<void> {
    this.#takeOut(draft)
    const published = draft.published === undefined ? [] : [draft.published]
    this.#failures.push({ job: draft.job, error: await rollBack(this.#context, published, error) })
  }

  /** Run a step of each save; one that fails or is aborted drops out. */
  async #forEach(step: (draft: Draft) => Promise<void>): Promise<void> {
    await mapBounded(this.#drafts, async (draft) => {
      try {
        throwIfAborted(draft.job.request.signal)
        await step(draft)
      } catch (error) {
        await this.#drop(draft, writeError(draft.file?.filePath ?? this.#context.paths.root, error))
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
          this.#takeOut(draft)
          this.deferred.push(draft.job)
          continue
        }
        taken.set(chosen.fileName, chosen.topic)
        await this.#assignFile(draft, chosen)
      } catch (error) {
        await this.#drop(draft, writeError(this.#context.paths.root, error))
      }
    }
  }

  /** Give a save its file; what an earlier try made visible under that name is kept as it is. */
  async #assignFile(draft: Draft, { fileName, filePath, existing }: ChosenFile): Promise<void> {
    const file = { fileName, filePath, ...renderSave(draft.job.request, fileName) }
    const earlier = draft.published?.isVisible === true ? draft.published : undefined
    if (earlier !== undefined && earlier.filePath !== filePath) {
      await putBack(earlier, this.#context)
    }
    draft.file = file
    if (earlier?.filePath === filePath && existing?.bytes.equals(earlier.content) === true) return
    draft.published = { filePath, content: file.content, previous: existing, isVisible: false }
  }

  /** Write and flush every file, then make them visible, if the lock is still ours. */
  async #publishFiles(lock: Lock): Promise<SaveAttempt> {
    const { fileSystem, paths } = this.#context
    const staged = new Map<Draft, StagedFile>()
    await this.#forEach(async (draft) => {
      if (draft.published?.isVisible === true) return
      const { filePath, content } = fileOf(draft)
      const { signal } = draft.job.request
      staged.set(draft, await stageFile(filePath, content, { fileSystem, signal }))
    })
    const isHeld = await lock.isHeld()
    if (isHeld) {
      await this.#forEach(async (draft) => {
        const file = staged.get(draft)
        if (file === undefined || draft.published === undefined) return
        staged.delete(draft)
        await publishFile(file, fileSystem)
        draft.published.isVisible = true
      })
    }
    await mapBounded([...staged.values()], (file) => discardFile(file, fileSystem))
    if (!isHeld) return 'retry'
    if (!this.isEmpty) await syncDirectory(paths.root, fileSystem)
    return 'published'
  }

  /**
   * One try under a held lock.
   * @throws what ends the whole transaction; then call {@link fail} before the lock is released.
   */
  async attempt(lock: Lock): Promise<SaveAttempt> {
    const index = await readIndexVersion(this.#context)
    await this.#chooseFiles(index)
    if ((await this.#publishFiles(lock)) === 'retry') return 'retry'
    await this.#forEach(async () => {})
    if (this.isEmpty) return 'published'
    const { text } = upsertIndexEntries(index.text, this.entries, utf8BytesCodec)
    if (text !== index.text) {
      if (!(await publishIndex(this.#context, lock, index, text))) return 'retry'
      this.#isCommitted = true
      await syncDirectory(this.#context.paths.root, this.#context.fileSystem)
    }
    this.#isCommitted = true
    this.#indexText = text
    return 'published'
  }

  /** Once the lock is released: tell every save what became of it; those that are left are durable. */
  settle(): void {
    for (const { job, error } of this.#failures) job.reject(error)
    for (const draft of this.#drafts) {
      const { fileName, filePath, content, entry } = fileOf(draft)
      draft.job.resolve({
        fileName,
        filePath,
        bytes: content.length,
        replaced: draft.published?.previous !== undefined,
        entry,
        indexText: this.#indexText,
      })
    }
    this.#drafts = []
  }

  /** Every save that is left has failed; put back what is not yet committed. */
  async fail(cause: unknown): Promise<void> {
    const error = writeError(this.#context.paths.root, cause)
    const published = this.#drafts.flatMap((draft) => draft.published ?? [])
    const reported = this.#isCommitted
      ? unconfirmedError(this.#context.paths.root, error)
      : await rollBack(this.#context, published, error)
    for (const { job } of this.#drafts) this.#failures.push({ job, error: reported })
    this.#drafts = []
  }
}

/** The error of a transaction that is visible, but not known to be durable or listed. */
function unconfirmedError(path: string, cause: unknown): MemoryError {
  const coded = cause instanceof MemoryError ? cause : undefined
  const reason = coded?.message ?? 'unexpected error'
  return new MemoryError(
    coded?.code ?? 'WRITE_FAILED',
    `the memory was written, but that could not be confirmed: ${reason}`,
    { path, cause, ...(coded?.errno === undefined ? {} : { errno: coded.errno }) },
  )
}
