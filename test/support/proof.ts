/** Whether the long form of the proofs is asked for (`npm run proof`). */
export const IS_FULL = process.env['PROOF'] === 'full'

/** Print one counted line; `scripts/proof.mjs` collects them. */
export function printCount(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** A number with thousands apart. */
export function counted(count: number): string {
  return count.toLocaleString('en-US')
}

/** Run a step for each item, so many at a time. */
export async function inBatches<T>(
  items: readonly T[],
  atOnce: number,
  step: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) {
    await Promise.all(items.slice(at, at + atOnce).map(step))
  }
}

/** Evenly spread items, at most so many, the first and the last among them. */
export function sampleOf<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items]
  return Array.from(
    { length: count },
    (_, at) => items[Math.round((at * (items.length - 1)) / (count - 1))] as T,
  )
}

/** The same numbers each time: xorshift, between 0 and 1. */
export function seededRandom(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
