import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished, vi } from 'vitest'
import type { LockTimes } from '../../src/store/lock.ts'
import type { SaveInput } from '../../src/store/save-request.ts'
import type { SaveResult } from '../../src/store/store.ts'

const SCRIPT = fileURLToPath(new URL('../process/fixtures/store-worker.mjs', import.meta.url))
const BUILT = fileURLToPath(new URL('../../lib/store/index.js', import.meta.url))

/** What became of one save in another process. */
export interface WorkerOutcome {
  saved?: SaveResult
  error?: { name: string; code?: string; message: string }
}

/** Where and how a worker saves. */
export interface WorkerSave {
  home: string
  saves: SaveInput[]
  /** All in one go instead of one after the other. */
  atOnce?: boolean
  lockTimes?: LockTimes
  /** Tell each try to take the lock as an event; implied by `stop`. */
  isWatched?: boolean
  /** Send itself a signal at a named moment; the names are in the fixture. */
  stop?: { moment: string; signal: NodeJS.Signals }
  /** End the process as soon as the saves are settled. */
  exits?: boolean
}

interface Waiting {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/** Another process with the built package; ended with the running test. */
export class StoreWorker {
  readonly child: ChildProcess
  readonly ended: Promise<NodeJS.Signals | number | null>
  /** How often it tried to take a lock. */
  lockTries = 0
  #nextId = 0
  #output = ''
  readonly #waiting = new Map<number, Waiting>()

  constructor() {
    if (!existsSync(BUILT)) throw new Error(`${BUILT} is missing: run \`npm run build\` first`)
    this.child = spawn(process.execPath, [SCRIPT], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.ended = new Promise((resolve) => {
      this.child.on('exit', (code, signal) => {
        const how = signal ?? code
        for (const { reject } of this.#waiting.values()) {
          reject(new Error(`the worker ended (${how}): ${this.#output}`))
        }
        resolve(how)
      })
    })
    this.child.stderr?.on('data', (data) => (this.#output += String(data)))
    if (this.child.stdout === null) throw new TypeError('a pipe was asked for')
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#answer(line))
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  #answer(line: string): void {
    const { id, event, result } = JSON.parse(line) as {
      id: number
      event?: string
      result?: unknown
    }
    if (event === 'wants lock') this.lockTries += 1
    else this.#waiting.get(id)?.resolve(result)
    if (event === undefined) this.#waiting.delete(id)
  }

  #send<T>(command: object): Promise<T> {
    const id = (this.#nextId += 1)
    this.child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Save there. Rejects when the process ends first. */
  save(command: WorkerSave): Promise<WorkerOutcome[]> {
    const isWatched = command.isWatched === true || command.stop !== undefined
    return this.#send({ action: 'save', ...command, isWatched })
  }

  /** Read the index there until told to stop. */
  read(command: {
    home: string
    line: string
  }): Promise<{ reads: number; lines: number; faults: string[] }> {
    return this.#send({ action: 'read', ...command })
  }

  async stopReading(): Promise<void> {
    await this.#send({ action: 'stop reading' })
  }
}

/** Start so many workers. */
export function workers(count: number): StoreWorker[] {
  return Array.from({ length: count }, () => new StoreWorker())
}

/** Wait until a process stands still after a stop signal. */
export async function stopped({ child }: StoreWorker): Promise<void> {
  const isStopped = async (): Promise<void> => {
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8')
    if (!/^\d+ \(.*\) T/su.test(stat)) throw new Error(`process ${child.pid} still runs`)
  }
  await vi.waitFor(isStopped, { timeout: 20_000, interval: 5 })
}
