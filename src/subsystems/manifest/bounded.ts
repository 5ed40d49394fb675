/**
 * Bounded and shared asynchronous calls.
 *
 * Role: keeps the number of open files and pending disk requests down. Does not
 * catch: a rejection reaches every caller that waits for it.
 */
import { setImmediate } from 'node:timers/promises'

/**
 * Runs one function over many items with a fixed number of workers.
 * @param limit - most calls in flight.
 * @param task - called once per item.
 * @returns the results in the order of the items; the first rejection rejects all.
 */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = Array.from<Result>({ length: items.length })
  const queue = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await task(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}

/**
 * Lets requests for one key that come in the same turn of the event loop share a call.
 * @param call - starts after all the requests that it answers.
 * @returns a function with the same answer as `call`.
 */
export function sharePerTurn<Result>(
  call: (key: string) => Promise<Result>,
): (key: string) => Promise<Result> {
  const next = new Map<string, Promise<Result>>()
  return (key) => {
    const known = next.get(key)
    if (known !== undefined) return known
    const answer = setImmediate().then(() => {
      next.delete(key)
      return call(key)
    })
    next.set(key, answer)
    return answer
  }
}
