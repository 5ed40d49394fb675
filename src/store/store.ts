/**
 * The store of one project's memory.
 *
 * Role: the public face of reading and changing a memory. It parses requests,
 * queues changes and reads without locking. Knows nothing of sessions, prompts
 * or the host.
 */
import { join } from 'node:path'
import { readMemoryHeader } from '../format/memory-file.ts'
import { MemoryError } from '../errors.ts'
import type { MemoryRecallType, ProjectMemoryPaths } from '../types.ts'
import { throwIfAborted } from './abort.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import { checkDirectories, writeError } from './directories.ts'
import type { Finding } from './doctor.ts'
import { examineMemory } from './doctor.ts'
import { repairMemory } from './doctor-repair.ts'
import { runExclusively } from './exclusive-change.ts'
import type { FileSystem } from './file-system.ts'
import { localFileSystem } from './file-system.ts'
import type { ForgetRequest, ForgottenMemory } from './forget.ts'
import { forgetMemory } from './forget.ts'
import type { LockTimes } from './lock.ts'
import { DEFAULT_LOCK_TIMES } from './lock.ts'
import { isSafeMemoryFileName } from './paths.ts'
import { closeQueueOf, writeQueueOf } from './queue.ts'
import type { RemovalRequest, RemovedFile } from './remove-file.ts'
import { removeMemoryFile } from './remove-file.ts'
import type { CommittedSave } from './save-draft.ts'
import type { SaveInput, SaveRequest } from './save-request.ts'
import { parseSaveRequest } from './save-request.ts'
import { SAFE_READ_FLAGS, decodeUtf8, readError, readStableBytes } from './stable-read.ts'
import type { TrashItem } from './trash.ts'
import { listTrash } from './trash.ts'
import type { RestoredMemory } from './undo.ts'
import { undoForget } from './undo.ts'

/** Bytes of a memory file's head that are read for its header, as in the manifest (64 KiB). */
const HEADER_MAX_BYTES = 64 * 1024

/** What a save tells its caller; all of it is true on the disk. */
export interface SaveResult {
  fileName: string
  /** Absolute path of the memory file. */
  filePath: string
  /** Size of the memory file in bytes. */
  bytes: number
  /** Whether an older memory of the same topic was replaced. */
  replaced: boolean
}

/** One memory as its file describes it. */
export interface MemoryListing {
  fileName: string
  description?: string
  type?: MemoryRecallType
}

/** Options of {@link ProjectMemoryStore}; the defaults are for use, others for tests. */
export interface ProjectMemoryStoreOptions {
  fileSystem?: FileSystem
  lockTimes?: LockTimes
}

/** Reads and changes the memory of one project. Making one touches nothing. */
export class ProjectMemoryStore {
  readonly paths: ProjectMemoryPaths
  readonly #context: StoreContext

  /**
   * @param paths - from `resolveProjectMemoryPaths`.
   * @param options - see {@link ProjectMemoryStoreOptions}.
   * @throws MemoryError `INVALID_ARGUMENT` for anything else than such paths.
   */
  constructor(paths: ProjectMemoryPaths, options: ProjectMemoryStoreOptions = {}) {
    if (typeof (paths as ProjectMemoryPaths | undefined)?.root !== 'string') {
      throw new MemoryError('INVALID_ARGUMENT', 'paths must come from resolveProjectMemoryPaths')
    }
    this.paths = paths
    this.#context = {
      paths,
      lockPath: `${paths.root}.lock`,
      fileSystem: options.fileSystem ?? localFileSystem,
      lockTimes: options.lockTimes ?? DEFAULT_LOCK_TIMES,
    }
  }

  /**
   * Save a memory under its key: a new file and index line, or the replacement
   * of those that hold the key's topic. When the promise resolves both are durable.
   * @param input - see {@link SaveInput}; an aborted `signal` rejects with an `AbortError`, and what
   *   was not yet published is not.
   * @throws MemoryError: `INVALID_ARGUMENT` (nothing touched) or why the disk or the lock refused
   *   (memory file and index as before, unless the message says otherwise).
   */
  async save(input: SaveInput): Promise<SaveResult> {
    const request = parseSaveRequest(input)
    throwIfAborted(request.signal)
    const saved = await writeQueueOf(this.#context).save(request, this)
    const { fileName, filePath, bytes, replaced } = saved
    return { fileName, filePath, bytes, replaced }
  }

  /**
   * As {@link save} for a request that was already parsed; also tells what the index holds now.
   * @internal
   */
  async commit(request: SaveRequest): Promise<CommittedSave> {
    throwIfAborted(request.signal)
    return writeQueueOf(this.#context).save(request, this, true)
  }

  /**
   * Read the index as it is on disk.
   * @param signal - rejects with an `AbortError`.
   * @returns the raw text; `exists: false` with `''` when there is no index yet.
   * @throws MemoryError when it exists but cannot be read, with the reason.
   */
  async readIndex(signal?: AbortSignal): Promise<{ content: string; exists: boolean }> {
    const { fileSystem, paths } = this.#context
    const absent = { content: '', exists: false }
    if (!(await this.#directoryExists())) return absent
    const read = await readStableBytes(paths.indexFilePath, { fileSystem, signal })
    return read === undefined
      ? absent
      : { content: decodeUtf8(paths.indexFilePath, read.bytes), exists: true }
  }

  /**
   * List the memory files directly in the memory directory, by name. Unreadable
   * files are listed without description and type.
   * @throws MemoryError when the directory cannot be listed.
   */
  async listEntries(): Promise<MemoryListing[]> {
    const { fileSystem, paths } = this.#context
    if (!(await this.#directoryExists())) return []
    let names: string[]
    try {
      const found = await fileSystem.readdir(paths.root, { withFileTypes: true })
      names = found.filter((item) => item.isFile()).map((item) => item.name)
    } catch (error) {
      throw readError(paths.root, error)
    }
    const files = names.filter(isSafeMemoryFileName).sort()
    return mapBounded(files, async (fileName) => {
      const head = await this.#readHead(join(paths.root, fileName))
      const { description, type } = readMemoryHeader(head)
      return {
        fileName,
        ...(description === undefined ? {} : { description }),
        ...(type === undefined ? {} : { type }),
      }
    })
  }

  /**
   * Forget a memory: no file, no index line; a copy is kept for undo unless `purge`.
   * Durable when the promise resolves.
   * @throws MemoryError `NOT_FOUND` with the closest names, or why the disk or the lock refused; see
   *   `forgetMemory`.
   */
  async forget(request: ForgetRequest): Promise<ForgottenMemory> {
    throwIfAborted(request.signal)
    return this.#change(() => forgetMemory(this.#context, request))
  }

  /**
   * Have a forgotten memory back. Never overwrites.
   * @param fileName - which one; without it the one that was forgotten last.
   * @throws MemoryError `NOT_FOUND`, `INVALID_ARGUMENT`; see `undoForget`.
   */
  undo(fileName?: string, signal?: AbortSignal): Promise<RestoredMemory> {
    return this.#change(() => undoForget(this.#context, fileName, signal))
  }

  /**
   * Have somebody else change files of this memory alone; see `runExclusively`.
   * @param change - run once, under the queue and the lock, with the directory in place.
   * @internal
   */
  exclusively<T>(change: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#queue(() => runExclusively(this.#context, change, signal))
  }

  /**
   * Move a memory file into the trash and leave its index line; see `removeMemoryFile`.
   * @internal
   */
  removeFile(request: RemovalRequest): Promise<RemovedFile> {
    return this.#change(() => removeMemoryFile(this.#context, request))
  }

  /** @returns what can be had back, newest first. */
  listTrash(): Promise<TrashItem[]> {
    return listTrash(this.#context)
  }

  /**
   * Look for what crashes, other programs or hand edits left behind; changes nothing.
   * @param other - memory directory of another spelling of the project path, when there is one.
   */
  examine(other?: string): Promise<Finding[]> {
    return examineMemory(this.#context, other)
  }

  /** Mend findings of {@link examine}; see `repairMemory`. */
  repair(findings: readonly Finding[]): Promise<Finding[]> {
    return this.#change(() => repairMemory(this.#context, findings))
  }

  /**
   * Refuse what of this store is waiting (`CLOSED`) and wait for its transaction
   * in flight. The store can be used again afterwards.
   */
  close(): Promise<void> {
    return closeQueueOf(this.#context, this)
  }

  #queue<T>(change: () => Promise<T>): Promise<T> {
    return writeQueueOf(this.#context).change(change, this)
  }

  /** As {@link #queue}; an error of the system that has no code of ours yet gets one. */
  async #change<T>(change: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue(change)
    } catch (error) {
      throw writeError(this.paths.root, error)
    }
  }

  async #directoryExists(): Promise<boolean> {
    try {
      return await checkDirectories(this.paths.root, this.#context.fileSystem)
    } catch (error) {
      throw readError(this.paths.root, error)
    }
  }

  /** @returns the head of a file as text, `''` when it cannot be read. */
  async #readHead(path: string): Promise<string> {
    try {
      const handle = await this.#context.fileSystem.open(path, SAFE_READ_FLAGS)
      try {
        if (!(await handle.stat()).isFile()) return ''
        const buffer = Buffer.alloc(HEADER_MAX_BYTES)
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
        return buffer.toString('utf8', 0, bytesRead)
      } finally {
        await handle.close()
      }
    } catch {
      return ''
    }
  }
}
