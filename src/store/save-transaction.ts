/**
 * Saving one or more memories in one transaction.
 *
 * Role: under the lock: read the index, write the memory files, flush the
 * directory once, then publish the index with all their lines in call order,
 * flush again. The index's temp file is written side by side with theirs: waiting
 * for the disk is most of a save. A save whose own file fails or is aborted drops
 * out, the others go on. Just before the index is published the lock must still
 * be ours and the index still the version that was read, otherwise everything is
 * decided anew. Taking the lock is the business of `save-group.ts`.
 */
import type { IndexEntry } from '../types.ts'
import { abortError, throwIfAborted } from './abort.ts'
import type { StagedFile } from './atomic-write.ts'
import { discardFile, isSweptAway, publishFile, stageFile } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import type { OpenDirectory } from './directories.ts'
import { openDirectory, writeError } from './directories.ts'
import type { ChosenFile } from './file-name.ts'
import { chooseFile } from './file-name.ts'
import type { IndexVersion } from './index-bytes.ts'
import { publishStagedIndex, readIndexVersion, stageIndex } from './index-bytes.ts'
import type { EditedIndex } from './index-edit.ts'
import { editIndex } from './index-edit.ts'
import type { Lock } from './lock.ts'
import { putBack, rollBack } from './rollback.ts'
import type { Draft, SaveJob } from './save-draft.ts'
import { fileOf, renderSave } from './save-draft.ts'
import { unconfirmedError } from './unconfirmed.ts'
import { giveBackScratch, takeScratch } from './scratch.ts'

export type { CommittedSave, SaveJob } from './save-draft.ts'

/** What a try came to; after `retry` nothing of it is lost or doubled by another one. */
export type SaveAttempt = 'published' | 'retry'

/** A new index that is not yet visible, with the saves whose lines it has. */
interface IndexDraft {
  drafts: readonly Draft[]
  edited: EditedIndex
  /** `undefined` when the index has all lines already. */
  staged: StagedFile | undefined
}

/** A group of saves between their first try and their outcomes. */
export class SaveTransaction {
  /** Saves that must run after this transaction, because an earlier one writes the same file. */
  readonly deferred: SaveJob[] = []
  readonly #context: StoreContext
  #drafts: Draft[]
  #indexPieces: readonly Buffer[] = []
  /** What the index was read into. */
  #memory: Buffer | undefined
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
    const taken = { topics: new Set<string>(), fileNames: new Set<string>() }
    for (const draft of this.#drafts) {
      try {
        throwIfAborted(draft.job.request.signal)
        const chosen = await chooseFile(this.#context, draft.job.request.key, index, taken)
        if (chosen === 'taken') {
          this.#takeOut(draft)
          this.deferred.push(draft.job)
          continue
        }
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
    draft.published = {
      filePath,
      content: file.content,
      inode: undefined,
      previous: existing,
      isVisible: false,
    }
  }

  /** Write and flush the file of each save that is not visible yet. */
  async #stageFiles(): Promise<Map<Draft, StagedFile>> {
    const { fileSystem } = this.#context
    const staged = new Map<Draft, StagedFile>()
    await this.#forEach(async (draft) => {
      if (draft.published === undefined || draft.published.isVisible) return
      const { filePath, content } = fileOf(draft)
      const replaced = { mode: draft.published.previous?.mode }
      const { signal } = draft.job.request
      staged.set(draft, await stageFile(filePath, content, { fileSystem, signal, replaced }))
    })
    return staged
  }

  /** Write and flush an index with the lines of all saves. */
  async #stageIndex(base: IndexVersion): Promise<IndexDraft> {
    const drafts = this.#drafts
    const edited = editIndex(base.bytes, this.entries)
    const staged = edited.isChanged
      ? await stageIndex(this.#context, base, edited.pieces)
      : undefined
    return { drafts, edited, staged }
  }

  async #discard(files: Iterable<StagedFile | undefined>): Promise<void> {
    const present = [...files].filter((file) => file !== undefined)
    await mapBounded(present, (file) => discardFile(file, this.#context.fileSystem))
  }

  /**
   * Make staged files visible; those whose save drops out are discarded.
   * @returns `false` when one was swept away, because the lock is not ours any more.
   */
  async #publishFiles(staged: Map<Draft, StagedFile>): Promise<boolean> {
    let isComplete = true
    await this.#forEach(async (draft) => {
      const file = staged.get(draft)
      if (file === undefined || draft.published === undefined) return
      staged.delete(draft)
      try {
        await publishFile(file, this.#context.fileSystem)
        draft.published.isVisible = true
        draft.published.inode = file.inode
      } catch (error) {
        if (!isSweptAway(error)) throw error
        isComplete = false
      }
    })
    await this.#discard(staged.values())
    return isComplete
  }

  /**
   * One try under a held lock.
   * @throws what ends the whole transaction; then call {@link fail} before the lock is released.
   */
  async attempt(lock: Lock): Promise<SaveAttempt> {
    this.#giveBackMemory()
    const base = await readIndexVersion(this.#context, (size) => this.#takeMemory(size))
    await this.#chooseFiles(base)
    if (this.isEmpty) return 'published'
    const directory = await openDirectory(this.#context.paths.root, this.#context.fileSystem)
    try {
      return await this.#write(base, lock, directory)
    } finally {
      await directory.close()
    }
  }

  #takeMemory(size: number): Buffer {
    this.#giveBackMemory()
    this.#memory = takeScratch(size)
    return this.#memory
  }

  /** No piece of the index may be used from here on. */
  #giveBackMemory(): void {
    if (this.#memory !== undefined) giveBackScratch(this.#memory)
    this.#memory = undefined
    this.#indexPieces = []
  }

  async #write(base: IndexVersion, lock: Lock, directory: OpenDirectory): Promise<SaveAttempt> {
    const [files, staging] = await Promise.allSettled([this.#stageFiles(), this.#stageIndex(base)])
    const staged = files.status === 'fulfilled' ? files.value : new Map<Draft, StagedFile>()
    if (staging.status === 'rejected') {
      await this.#discard(staged.values())
      throw staging.reason
    }
    let index = staging.value
    if (!(await lock.isHeld())) {
      await this.#discard([...staged.values(), index.staged])
      return 'retry'
    }
    try {
      if (!(await this.#publishFiles(staged))) {
        await this.#discard([index.staged])
        return 'retry'
      }
      if (!this.isEmpty) await directory.sync()
      await this.#forEach(async () => {})
      if (index.drafts !== this.#drafts) index = await this.#restageIndex(base, index)
      if (this.isEmpty) return 'published'
    } catch (error) {
      await this.#discard([index.staged])
      throw error
    }
    return this.#publishIndex(base, index, lock, directory)
  }

  /** Stage the index anew without the lines of saves that dropped out. */
  async #restageIndex(base: IndexVersion, { staged }: IndexDraft): Promise<IndexDraft> {
    await this.#discard([staged])
    const nothing = { drafts: [], edited: { isChanged: false, pieces: [] }, staged: undefined }
    return this.isEmpty ? nothing : this.#stageIndex(base)
  }

  async #publishIndex(
    base: IndexVersion,
    { edited, staged }: IndexDraft,
    lock: Lock,
    directory: OpenDirectory,
  ): Promise<SaveAttempt> {
    if (staged !== undefined) {
      if (!(await publishStagedIndex(this.#context, lock, base, staged))) return 'retry'
      this.#isCommitted = true
      await directory.sync()
    }
    this.#isCommitted = true
    this.#indexPieces = edited.pieces
    return 'published'
  }

  /** Once the lock is released: tell every save what became of it; those that are left are durable. */
  settle(): void {
    for (const { job, error } of this.#failures) job.reject(error)
    const needsIndexText = this.#drafts.some(({ job }) => job.needsIndexText)
    const indexText = needsIndexText ? Buffer.concat(this.#indexPieces).toString('latin1') : ''
    for (const draft of this.#drafts) {
      const { fileName, filePath, content, entry } = fileOf(draft)
      draft.job.resolve({
        fileName,
        filePath,
        bytes: content.length,
        replaced: draft.published?.previous !== undefined,
        entry,
        indexText: draft.job.needsIndexText ? indexText : '',
      })
    }
    this.#drafts = []
    this.#giveBackMemory()
  }

  /** Every save that is left has failed; put back what is not yet committed. */
  async fail(cause: unknown): Promise<void> {
    const error = writeError(this.#context.paths.root, cause)
    const published = this.#drafts.flatMap((draft) => draft.published ?? [])
    const reported = this.#isCommitted
      ? unconfirmedError('written', this.#context.paths.root, error)
      : await rollBack(this.#context, published, error)
    for (const { job } of this.#drafts) this.#failures.push({ job, error: reported })
    this.#drafts = []
  }
}
