import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createMemoryExtractionScheduler,
  type MemoryExtractionExecutor,
  type MemoryExtractionResult,
  type MemoryExtractionSnapshot,
} from '../../../src/subsystems/extraction/index.ts'

type Run = Parameters<MemoryExtractionExecutor<MemoryExtractionSnapshot>>[0]

const unhandled: unknown[] = []
const note = (reason: unknown): number => unhandled.push(reason)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})

afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toStrictEqual([])
})

/** A conversation of messages m1 to m<last>; every other one is prose of the user. */
function upTo(last: number, text = 'please always run the slow tests'): MemoryExtractionSnapshot {
  const durableMessages = Array.from({ length: last }, (_, index) => ({
    info: { id: `m${index + 1}`, role: index % 2 === 0 ? 'user' : 'assistant' },
    parts: [{ type: 'text', text }],
  }))
  return { boundaryMessageId: `m${last}`, durableMessages }
}

interface Deferred<T> {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (reason: unknown) => void
}

function deferred<T>(): Deferred<T> {
  const parts: Partial<Deferred<T>> = {}
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }))
  return parts as Deferred<T>
}

/** An executor whose runs end when the test says so; `started(n)` waits for run n. */
function controlled(): {
  execute: (run: Run) => Promise<MemoryExtractionResult>
  runs: (Run & Deferred<MemoryExtractionResult>)[]
  started: (count: number) => Promise<Run & Deferred<MemoryExtractionResult>>
} {
  const runs: (Run & Deferred<MemoryExtractionResult>)[] = []
  let wake = deferred<void>()
  return {
    execute: (run) => {
      const end = deferred<MemoryExtractionResult>()
      runs.push({ ...run, ...end })
      wake.resolve()
      wake = deferred()
      return end.promise
    },
    runs,
    started: async (count) => {
      while (runs.length < count) await wake.promise
      return runs[count - 1]!
    },
  }
}

test('a successful run and a skip move the cursor, and nothing waits afterwards', async () => {
  const results: number[] = []
  const scheduler = createMemoryExtractionScheduler(({ messageCount }) => {
    results.push(messageCount)
    return 'success'
  })
  expect(scheduler.getCursor()).toBeUndefined()
  scheduler.schedule(upTo(3))
  expect(scheduler.hasPendingWork()).toBe(true)
  await scheduler.drain()
  expect(scheduler.getCursor()).toBe('m3')
  scheduler.schedule(upTo(6, 'ok'))
  await scheduler.drain()
  expect(scheduler.getCursor()).toBe('m6')
  expect(results).toStrictEqual([3])
  expect(scheduler.hasPendingWork()).toBe(false)
  await scheduler.drain()
})

test('no-op counts like success, a result of another name does not', async () => {
  const results = ['no-op', 'aborted', 'error', 'done'] as MemoryExtractionResult[]
  const scheduler = createMemoryExtractionScheduler(() => results.shift() ?? 'error')
  for (const last of [1, 3, 5, 7]) {
    scheduler.schedule(upTo(last))
    await scheduler.drain()
    expect(scheduler.getCursor()).toBe('m1')
  }
})

test('while one runs only the newest snapshot waits', async () => {
  const { execute, runs, started } = controlled()
  const scheduler = createMemoryExtractionScheduler(execute)
  scheduler.schedule(upTo(1))
  const first = await started(1)
  for (const last of [3, 5, 7]) scheduler.schedule(upTo(last))
  expect(runs).toHaveLength(1)
  first.resolve('success')
  const second = await started(2)
  expect(second).toMatchObject({ messageCount: 6, snapshot: { boundaryMessageId: 'm7' } })
  second.resolve('success')
  await scheduler.drain()
  expect(runs).toHaveLength(2)
  expect(scheduler.getCursor()).toBe('m7')
})

test.each([
  ['rejects', () => Promise.reject(new Error('max turns'))],
  [
    'throws at once',
    () => {
      throw new Error('broken')
    },
  ],
  ['reports an error', () => 'error' as const],
])('after a run that %s the next one covers the same messages again', async (_name, fail) => {
  const counts: number[] = []
  const scheduler = createMemoryExtractionScheduler(({ messageCount }) => {
    counts.push(messageCount)
    return counts.length === 1 ? fail() : 'success'
  })
  scheduler.schedule(upTo(10))
  await scheduler.drain()
  expect(scheduler.getCursor()).toBeUndefined()
  scheduler.schedule(upTo(20))
  await scheduler.drain()
  expect(counts).toStrictEqual([10, 20])
  expect(scheduler.getCursor()).toBe('m20')
})

test('a failing executor is run once per snapshot, without retries of its own', async () => {
  let count = 0
  const gate = deferred<void>()
  const scheduler = createMemoryExtractionScheduler(async () => {
    count += 1
    if (count === 11) await gate.promise
    throw new Error('max turns')
  })
  for (let last = 1; last <= 10; last += 1) {
    scheduler.schedule(upTo(last))
    await scheduler.drain()
  }
  expect(count).toBe(10)
  for (const last of [11, 12, 13]) scheduler.schedule(upTo(last))
  gate.resolve()
  await scheduler.drain()
  expect(count).toBe(12)
  expect(scheduler.getCursor()).toBeUndefined()
})

test('snapshots may be promised; one that rejects is a failed run', async () => {
  const boundaries: string[] = []
  const scheduler = createMemoryExtractionScheduler(({ snapshot }) => {
    boundaries.push(snapshot.boundaryMessageId)
    return 'success'
  })
  scheduler.schedule(Promise.reject(new Error('no such branch')))
  scheduler.schedule(Promise.reject(new Error('dropped for the next')))
  scheduler.schedule(Promise.resolve(upTo(2)))
  await scheduler.drain()
  expect(boundaries).toStrictEqual(['m2'])
  expect(scheduler.getCursor()).toBe('m2')
})

test('something that is no snapshot is a failed run', async () => {
  const scheduler = createMemoryExtractionScheduler(() => 'success')
  for (const value of [undefined, null, 7, {}, { durableMessages: 7 }]) {
    scheduler.schedule(value as unknown as MemoryExtractionSnapshot)
    await scheduler.drain()
  }
  expect(scheduler.getCursor()).toBeUndefined()
})

test('a snapshot scheduled by the executor itself is not lost', async () => {
  const boundaries: string[] = []
  const scheduler = createMemoryExtractionScheduler(({ snapshot }) => {
    boundaries.push(snapshot.boundaryMessageId)
    if (boundaries.length === 1) scheduler.schedule(upTo(5))
    return 'success'
  })
  scheduler.schedule(upTo(1))
  await scheduler.drain()
  expect(boundaries).toStrictEqual(['m1', 'm5'])
})

test('a cursor of an earlier process is where it starts', async () => {
  const counts: number[] = []
  const execute = ({ messageCount }: Run): 'success' => {
    counts.push(messageCount)
    return 'success'
  }
  const scheduler = createMemoryExtractionScheduler(execute, { initialCursor: 'm4' })
  expect(scheduler.getCursor()).toBe('m4')
  scheduler.schedule(upTo(9))
  await scheduler.drain()
  expect(counts).toStrictEqual([5])
})

test('shutdown aborts the run, drops what waits and moves the cursor no more', async () => {
  const { execute, runs, started } = controlled()
  const scheduler = createMemoryExtractionScheduler(execute)
  scheduler.schedule(upTo(1))
  const run = await started(1)
  scheduler.schedule(upTo(3))
  const closed = scheduler.shutdown()
  expect(run.abortSignal.aborted).toBe(true)
  run.resolve('success')
  await closed
  await scheduler.shutdown()
  await scheduler.drain()
  scheduler.schedule(upTo(5))
  expect(scheduler.hasPendingWork()).toBe(false)
  scheduler.schedule(Promise.reject(new Error('after the end')))
  await scheduler.drain()
  expect(runs).toHaveLength(1)
  expect(scheduler.getCursor()).toBeUndefined()
  expect(scheduler.hasPendingWork()).toBe(false)
})

test('shutdown gives up on a run that ignores the abort when its time is over', async () => {
  const { execute, started } = controlled()
  const timers: { callback: () => void; delayMs: number }[] = []
  const scheduler = createMemoryExtractionScheduler(execute, {
    setTimeout: (callback, delayMs) => timers.push({ callback, delayMs }),
  })
  scheduler.schedule(upTo(1))
  const run = await started(1)
  const drained = scheduler.drain()
  const closed = [scheduler.shutdown(), scheduler.shutdown()]
  expect(timers.map(({ delayMs }) => delayMs)).toStrictEqual([60_000])
  expect(scheduler.hasPendingWork()).toBe(true)
  timers[0]!.callback()
  await Promise.all([...closed, drained])
  expect(scheduler.hasPendingWork()).toBe(false)
  run.resolve('success')
  await run.promise
  await scheduler.drain()
  expect(scheduler.getCursor()).toBeUndefined()
})

test('shutdown takes its limit from the options, the real timer included', async () => {
  const scheduler = createMemoryExtractionScheduler(() => new Promise(() => undefined), {
    shutdownTimeoutMs: 0,
  })
  scheduler.schedule(upTo(1))
  await scheduler.shutdown()
  const delays: number[] = []
  const patient = createMemoryExtractionScheduler(() => new Promise(() => undefined), {
    shutdownTimeoutMs: Number.POSITIVE_INFINITY,
    setTimeout: (callback, delayMs) => {
      delays.push(delayMs)
      callback()
    },
  })
  patient.schedule(upTo(1))
  await patient.shutdown()
  expect(delays).toStrictEqual([2 ** 31 - 1])
})

test('shutdown ends the wait for a promised snapshot at once, whatever becomes of it', async () => {
  const { execute, runs } = controlled()
  const late = deferred<MemoryExtractionSnapshot>()
  const broken = deferred<MemoryExtractionSnapshot>()
  for (const { promise } of [late, broken]) {
    const scheduler = createMemoryExtractionScheduler(execute)
    scheduler.schedule(promise)
    await scheduler.shutdown()
    expect(scheduler.hasPendingWork()).toBe(false)
  }
  late.resolve(upTo(1))
  broken.reject(new Error('too late'))
  await late.promise
  expect(runs).toHaveLength(0)
})

test('shutdown drops a waiting snapshot that never comes', async () => {
  const { execute, started } = controlled()
  const scheduler = createMemoryExtractionScheduler(execute)
  scheduler.schedule(upTo(1))
  const run = await started(1)
  scheduler.schedule(new Promise(() => undefined))
  const closed = scheduler.shutdown()
  run.resolve('aborted')
  await closed
  expect(scheduler.hasPendingWork()).toBe(false)
})

test('no run starts after shutdown, at whichever moment it comes', async () => {
  for (let moment = 0; moment < 12; moment += 1) {
    let isShut = false
    const late: boolean[] = []
    const scheduler = createMemoryExtractionScheduler(() => {
      late.push(isShut)
      return 'success'
    })
    scheduler.schedule(upTo(1))
    for (let tick = 0; tick < moment; tick += 1) await Promise.resolve()
    isShut = true
    await scheduler.shutdown()
    expect(late).not.toContain(true)
  }
})

test('shutdown without work, and from an abort listener, resolves too', async () => {
  await createMemoryExtractionScheduler(() => 'success').shutdown()
  const scheduler = createMemoryExtractionScheduler(
    ({ abortSignal }) =>
      new Promise((resolve) => {
        abortSignal.addEventListener('abort', () => {
          scheduler.schedule(upTo(9))
          void scheduler.shutdown().then(() => resolve('success'))
          resolve('aborted')
        })
        void scheduler.shutdown()
      }),
  )
  scheduler.schedule(upTo(1))
  await scheduler.drain()
  expect(scheduler.hasPendingWork()).toBe(false)
})

test('methods work without their object', async () => {
  const { schedule, drain, getCursor } = createMemoryExtractionScheduler(() => 'success')
  schedule(upTo(1))
  await drain()
  expect(getCursor()).toBe('m1')
})

test.each([-1, Number.NaN, '5'])('a shutdown time of %s is refused', (shutdownTimeoutMs) => {
  const options = { shutdownTimeoutMs: shutdownTimeoutMs as number }
  expect(() => createMemoryExtractionScheduler(() => 'success', options)).toThrow(TypeError)
})

test('an executor that is no function is refused', () => {
  expect(() => createMemoryExtractionScheduler(undefined as never)).toThrow(TypeError)
})
