/**
 * Bounded concurrency.
 *
 * Role: runs one asynchronous function over many items with a fixed number of
 * workers, so that open files and pending disk requests stay bounded. Does not
 * catch: the first rejection of `task` rejects the whole.
 */

/**
 * @param items - read in order; not changed.
 * @param limit - most calls in flight.
 * @param task - called once per item.
 * @returns the results in the order of the items.
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
