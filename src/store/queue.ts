/**
 * The order of changes to one memory within this process.
 *
 * Role: one transaction at a time per memory, in the order of the calls; saves
 * that wait together share one transaction. The file lock does the same between
 * processes; this keeps a process from competing with itself. Holds no state
 * while nothing is queued.
 */
import { MemoryError } from '../errors.ts'
import { abortError } from './abort.ts'
import type { StoreContext } from './context.ts'
import type { CommittedSave, SaveJob } from './save-draft.ts'
import { runSaveGroup } from './save-group.ts'
import type { SaveRequest } from './save-request.ts'

/** Most saves of one transaction: bounds how long a caller waits for the others of its group. */
const MAX_SAVES_PER_TRANSACTION = 256

interface QueuedSave extends SaveJob {
  kind: 'save'
  owner: object
}

interface QueuedChange {
  kind: 'change'
  owner: object
  run: () => Promise<void>
  reject: (error: unknown) => void
}

type Queued = QueuedSave | QueuedChange

/** The queues that have something to do; an idle one is dropped. */
const queues = new Set<WriteQueue>()

/** The queue of one memory; get it with {@link writeQueueOf}. */
export class WriteQueue {
  readonly #context: StoreContext
  #waiting: Queued[] = []
  /** What is running, and for whom. */
  #running: { owners: ReadonlySet<object>; ended: Promise<void> } | undefined

  constructor(context: StoreContext) {
    this.#context = context
  }

  /**
   * Queue a save. One that is aborted before its turn rejects at once.
   * @param owner - who asks; see {@link close}.
   * @param needsIndexText - whether to tell the published index too.
   */
  save(request: SaveRequest, owner: object, needsIndexText = false): Promise<CommittedSave> {
    const { signal } = request
    const giveUp = (): void => {
      const item = this.#waiting.find((queued) => 'request' in queued && queued.request === request)
      if (item === undefined || signal === undefined) return
      this.#waiting = this.#waiting.filter((other) => other !== item)
      item.reject(abortError(signal))
    }
    const outcome = new Promise<CommittedSave>((resolve, reject) => {
      this.#push({ kind: 'save', owner, request, needsIndexText, resolve, reject })
    })
    signal?.addEventListener('abort', giveUp)
    return outcome.finally(() => signal?.removeEventListener('abort', giveUp))
  }

  /**
   * Queue another change, run alone.
   * @param change - takes the lock itself.
   */
  change<T>(change: () => Promise<T>, owner: object): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = async (): Promise<void> => {
        try {
          resolve(await change())
        } catch (error) {
          reject(error)
        }
      }
      this.#push({ kind: 'change', owner, run, reject })
    })
  }

  /**
   * Refuse what the owner has waiting, and wait for what of it is running, up to
   * the last save that its transaction put off.
   */
  async close(owner: object): Promise<void> {
    const refused = this.#waiting.filter((item) => item.owner === owner)
    this.#waiting = this.#waiting.filter((item) => item.owner !== owner)
    for (const { reject } of refused) {
      reject(new MemoryError('CLOSED', 'project memory is shutting down; nothing was saved'))
    }
    while (this.#running?.owners.has(owner) === true) await this.#running.ended
  }

  /** Whether a context means the same memory through the same file system. */
  isFor({ paths, fileSystem, lockTimes }: StoreContext): boolean {
    const own = this.#context
    return (
      own.paths.root === paths.root && own.fileSystem === fileSystem && own.lockTimes === lockTimes
    )
  }

  /** Starts in the next microtask, so that calls made together share a transaction. */
  #push(item: Queued): void {
    this.#waiting.push(item)
    if (this.#running !== undefined) return
    this.#running = { owners: new Set(), ended: Promise.resolve() }
    void Promise.resolve().then(() => this.#drain())
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { owners, run } = this.#next()
      const ended = run()
      this.#running = { owners: new Set(owners), ended }
      await ended
    }
    this.#running = undefined
    queues.delete(this)
  }

  /** Take the next change, or all saves that wait before the next change. */
  #next(): { owners: object[]; run: () => Promise<void> } {
    const [first] = this.#waiting
    if (first?.kind === 'change') {
      this.#waiting.shift()
      return { owners: [first.owner], run: first.run }
    }
    const end = this.#waiting.findIndex((item) => item.kind !== 'save')
    const count = Math.min(end < 0 ? this.#waiting.length : end, MAX_SAVES_PER_TRANSACTION)
    const group = this.#waiting.splice(0, count) as QueuedSave[]
    const run = async (): Promise<void> => {
      try {
        const deferred = new Set(await runSaveGroup(this.#context, group))
        this.#waiting.unshift(...group.filter((save) => deferred.has(save)))
      } catch (error) {
        // A mistake of ours must not leave anybody waiting for ever.
        for (const { reject } of group) reject(error)
      }
    }
    return { owners: group.map(({ owner }) => owner), run }
  }
}

/** The queue of a memory that is at work, if there is one. */
function queueAtWork(context: StoreContext): WriteQueue | undefined {
  return [...queues].find((queue) => queue.isFor(context))
}

/**
 * The queue of a memory, shared by every store of this process on the same
 * directory and file system. Queue something in the same turn: an idle queue is
 * forgotten once it has drained.
 */
export function writeQueueOf(context: StoreContext): WriteQueue {
  const existing = queueAtWork(context)
  if (existing !== undefined) return existing
  const queue = new WriteQueue(context)
  queues.add(queue)
  return queue
}

/** Refuse what an owner has waiting for a memory and wait for what is running; see {@link WriteQueue.close}. */
export async function closeQueueOf(context: StoreContext, owner: object): Promise<void> {
  await queueAtWork(context)?.close(owner)
}
