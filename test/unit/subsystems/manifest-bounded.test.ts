import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mapBounded, sharePerTurn } from '../../../src/subsystems/manifest/bounded.ts'

test('results keep the order of the items, whatever ends first', async () => {
  const turns = [3, 0, 2, 1]
  const results = await mapBounded(turns, 3, async (count) => {
    for (let turn = 0; turn < count; turn += 1) await setImmediate()
    return count
  })
  expect(results).toStrictEqual(turns)
  expect(await mapBounded([], 3, async () => 1)).toStrictEqual([])
})

test('no more calls are in flight than allowed, and a rejection rejects the whole', async () => {
  let inFlight = 0
  let most = 0
  const work = mapBounded([1, 2, 3, 4, 5], 2, async (item) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    await setImmediate()
    inFlight -= 1
    if (item === 3) throw new Error('third')
  })
  await expect(work).rejects.toThrow('third')
  expect(most).toBe(2)
})

test('requests of one turn share a call per key, later ones get a call of their own', async () => {
  const calls: string[] = []
  const share = sharePerTurn(async (key) => {
    calls.push(key)
    return calls.length
  })
  const early = [share('a'), share('b'), share('a')]
  expect(calls).toStrictEqual([])
  expect(await Promise.all(early)).toStrictEqual([1, 2, 1])
  expect(await share('a')).toBe(3)
  expect(calls).toStrictEqual(['a', 'b', 'a'])
})

test('a failed shared call fails its requests only', async () => {
  let isBroken = true
  const share = sharePerTurn(async () => {
    if (isBroken) throw new Error('broken')
    return 'fine'
  })
  const [first, second] = await Promise.allSettled([share('a'), share('a')])
  expect([first.status, second.status]).toStrictEqual(['rejected', 'rejected'])
  isBroken = false
  expect(await share('a')).toBe('fine')
})
