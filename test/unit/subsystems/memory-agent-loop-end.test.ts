import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  runMemoryAgentLoop,
  type MemoryAgentLoopInput,
  type MemoryAgentModelResponse,
} from '../../../src/subsystems/memory-agent/index.ts'

/** A run that makes two reading calls in every turn. */
function endlessInput(more: Partial<MemoryAgentLoopInput> = {}): MemoryAgentLoopInput {
  const toolCalls = ['1', '2'].map((id) => ({ id, name: 'read', input: {} }))
  return {
    model: { generateText: async () => ({ toolCalls }) },
    tools: ['read'],
    executeTool: () => 'ok',
    messages: [],
    maxTurns: 5,
    rootDir: '/memory',
    workingDirectory: '/project',
    workspaceRoot: '/project',
    ...more,
  }
}

/** Ends some rounds of the event loop after the signal was aborted, as real work would. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })
  for (let round = 0; round < 5; round += 1) await setImmediate()
}

describe('how a run of the memory agent ends early', () => {
  it('rejects with the error of the model, in any turn', async () => {
    const failure = new Error('HTTP 500')
    let turn = 0
    const generateText = async (): Promise<MemoryAgentModelResponse> => {
      turn += 1
      if (turn === 2) throw failure
      return { toolCalls: [{ id: '1', name: 'read', input: {} }] }
    }
    await expect(runMemoryAgentLoop(endlessInput({ model: { generateText } }))).rejects.toBe(
      failure,
    )
    expect(turn).toBe(2)
    const now = () => {
      throw failure
    }
    const model = { generateText: now }
    await expect(runMemoryAgentLoop(endlessInput({ model }))).rejects.toBe(failure)
  })

  it('rejects an answer that is not an object', async () => {
    for (const answer of [undefined, null, 'text'] as unknown as MemoryAgentModelResponse[]) {
      const model = { generateText: async () => answer }
      await expect(runMemoryAgentLoop(endlessInput({ model }))).rejects.toThrow('generateText')
    }
  })

  it('rejects with the first error of the executor after the other calls have ended', async () => {
    const failure = new Error('disk on fire')
    let othersEnded = false
    const executeTool: MemoryAgentLoopInput['executeTool'] = async ({ id }, { abortSignal }) => {
      if (id === '2') throw failure
      await untilAborted(abortSignal)
      othersEnded = true
      throw new Error('a later error')
    }
    await expect(runMemoryAgentLoop(endlessInput({ executeTool }))).rejects.toBe(failure)
    expect(othersEnded).toBe(true)
  })

  it('does not start when the signal is already aborted', async () => {
    let asked = false
    const model = {
      generateText: async () => {
        asked = true
        return {}
      },
    }
    const run = runMemoryAgentLoop(endlessInput({ model, abortSignal: AbortSignal.abort() }))
    await expect(run).rejects.toMatchObject({ name: 'AbortError' })
    expect(asked).toBe(false)
  })

  it('rejects with the reason when aborted between two requests', async () => {
    const stop = new AbortController()
    const reason = new Error('session closes')
    let requests = 0
    const input = endlessInput({
      abortSignal: stop.signal,
      model: {
        generateText: async () => {
          requests += 1
          return { toolCalls: [{ id: '1', name: 'read', input: {} }] }
        },
      },
      executeTool: () => {
        stop.abort(reason)
        return 'ok'
      },
    })
    await expect(runMemoryAgentLoop(input)).rejects.toBe(reason)
    await expect(runMemoryAgentLoop({ ...input, maxTurns: 1 })).rejects.toBe(reason)
    expect(requests).toBe(1)
  })

  it('abandons a request that ignores the signal', async () => {
    const stop = new AbortController()
    const model = {
      generateText: (): Promise<never> => {
        queueMicrotask(() => stop.abort())
        return new Promise(() => {})
      },
    }
    const run = runMemoryAgentLoop(endlessInput({ model, abortSignal: stop.signal }))
    await expect(run).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('tells the model and the executors, and waits for the executors', async () => {
    const stop = new AbortController()
    const told: string[] = []
    const input = endlessInput({
      abortSignal: stop.signal,
      executeTool: async ({ id }, { abortSignal }) => {
        if (id === '2') queueMicrotask(() => stop.abort())
        await untilAborted(abortSignal)
        told.push(id)
        return 'late'
      },
    })
    await expect(runMemoryAgentLoop(input)).rejects.toMatchObject({ name: 'AbortError' })
    expect(told).toEqual(['1', '2'])
  })

  it('leaves no listener on the signal of the caller', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1
      remove(...args)
    }
    await runMemoryAgentLoop(endlessInput({ abortSignal: signal }))
    expect(listeners).toBe(0)
  })

  it('refuses a number of turns that is not a positive integer', async () => {
    for (const maxTurns of [0, -1, 1.5, Number.NaN, Infinity, '5', undefined] as number[]) {
      const run = runMemoryAgentLoop(endlessInput({ maxTurns }))
      await expect(run).rejects.toThrow('maxTurns must be a positive integer')
    }
  })

  it('refuses directories that are not absolute', async () => {
    for (const field of ['rootDir', 'workingDirectory', 'workspaceRoot']) {
      const run = runMemoryAgentLoop({ ...endlessInput(), [field]: 'here' })
      await expect(run).rejects.toThrow(field)
    }
  })
})
