/** Counts the runs of a fuzz, sees that none takes long, and compares texts line by line. */
import { scanIndexEntries } from '../../src/format/index.ts'
import type { IndexCodec } from '../../src/format/index.ts'
import { counted, IS_FULL, printCount } from './proof.ts'

const FULL_RUNS = 100_000
const HANG_MS = 1_000

/** How often a property is run: `RUNS` says it for a longer look, `PROOF=full` for the proof. */
export function fuzzRuns(short: number): number {
  return IS_FULL ? FULL_RUNS : Number(process.env['RUNS'] ?? short)
}

/** Long enough for that many runs, in ms. */
export const FUZZ_TIMEOUT_MS =
  IS_FULL || process.env['RUNS'] !== undefined ? 3 * 3_600_000 : 120_000

/**
 * Watches calls; time is the processor's, not the clock's, so that a busy machine fails nothing.
 * A call that takes more than a second is an error.
 */
export class FuzzMeter {
  readonly #runs: Record<string, number> = {}
  #longestMs = 0

  /** Run one call. One that takes long is made again: a collection of garbage may fall into it. */
  quick<T>(name: string, call: () => T): T {
    this.#count(name)
    const { value, ms } = measured(call)
    this.#note(name, ms > HANG_MS ? measured(call).ms : ms)
    return value
  }

  /** Run one call that waits for the disk, and cannot be made again. */
  async quickly<T>(name: string, call: () => Promise<T>): Promise<T> {
    this.#count(name)
    const before = process.cpuUsage()
    const value = await call()
    this.#note(name, spentMs(before))
    return value
  }

  /** Print the counts in one line. */
  print(): void {
    const parts = Object.entries(this.#runs).map(([name, runs]) => `${name} ${counted(runs)}`)
    const longest = `longest ${this.#longestMs.toFixed(0)} ms of processor time`
    printCount(`fuzz: runs of ${parts.join(', ')}; ${longest}`)
  }

  #count(name: string): void {
    this.#runs[name] = (this.#runs[name] ?? 0) + 1
  }

  #note(name: string, ms: number): void {
    this.#longestMs = Math.max(this.#longestMs, ms)
    if (ms > HANG_MS) throw new Error(`${name} took ${ms} ms of processor time`)
  }
}

function measured<T>(call: () => T): { value: T; ms: number } {
  const before = process.cpuUsage()
  const value = call()
  return { value, ms: spentMs(before) }
}

function spentMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Lines that hold something, without CR, the blanks around a bullet, and byte order marks: one may come to stand first. */
function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  for (const line of text.replaceAll(/^(?:\ufeff|\u00ef\u00bb\u00bf)+/gm, '').split('\n')) {
    const bare = line.replace(/\r+$/, '').replace(/^ *([-*+]) +/, '$1 ')
    if (bare.trim() !== '') lines.set(bare, (lines.get(bare) ?? 0) + 1)
  }
  return lines
}

/** How many lines of `one` the other lacks. */
export function lacking(one: string, other: string): number {
  const there = linesOf(other)
  let missing = 0
  for (const [line, times] of linesOf(one)) missing += Math.max(0, times - (there.get(line) ?? 0))
  return missing
}

/** A text without the lines of the entries of some files. */
export function without(text: string, names: readonly string[], codec: IndexCodec): string {
  let rest = ''
  let position = 0
  for (const entry of scanIndexEntries(text, codec)) {
    if (!names.includes(entry.fileName)) continue
    rest += text.slice(position, entry.start)
    position = entry.end
  }
  return rest + text.slice(position)
}

/** Every character of `part` occurs in `whole` in the same order. */
export function isSubsequence(part: string, whole: string): boolean {
  let at = 0
  for (let index = 0; index < whole.length && at < part.length; index += 1) {
    if (whole.charCodeAt(index) === part.charCodeAt(at)) at += 1
  }
  return at === part.length
}
