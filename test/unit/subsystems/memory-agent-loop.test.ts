import { describe, expect, it } from 'vitest'
import {
  runMemoryAgentLoop,
  type MemoryAgentAllowedCall,
  type MemoryAgentLoopInput,
  type MemoryAgentMessage,
  type MemoryAgentModelRequest,
  type MemoryAgentModelResponse,
  type MemoryAgentToolCall,
  type MemoryAgentToolOutcome,
} from '../../../src/subsystems/memory-agent/index.ts'
import { agentWorld, HOST_TOOLS } from '../../support/memory-agent-world.ts'

type Script = (request: MemoryAgentModelRequest, turn: number) => MemoryAgentModelResponse

/** A model that answers from a script and remembers what it was asked. */
function scripted(script: Script) {
  const requests: MemoryAgentModelRequest[] = []
  return {
    requests,
    generateText: async (request: MemoryAgentModelRequest) => {
      requests.push(request)
      return script(request, requests.length)
    },
  }
}

const call = (id: string, name: string, input: unknown): MemoryAgentToolCall => ({
  id,
  name,
  input,
})

async function loopInput(
  more: Partial<MemoryAgentLoopInput> & Pick<MemoryAgentLoopInput, 'model'>,
): Promise<MemoryAgentLoopInput> {
  const { memory, project } = await agentWorld()
  return {
    tools: HOST_TOOLS,
    executeTool: ({ name }) => `ran ${name}`,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
    maxTurns: 5,
    rootDir: memory,
    workingDirectory: project,
    workspaceRoot: project,
    ...more,
  }
}

describe('the loop of the memory agent', () => {
  it('ends with the first answer that makes no calls', async () => {
    const model = scripted((_, turn) =>
      turn === 1
        ? { text: 'look', reasoning: ['why'], toolCalls: [call('1', 'read', { file_path: '/x' })] }
        : { text: 'Nothing to save.', toolCalls: [] },
    )
    const input = await loopInput({ model })
    await expect(runMemoryAgentLoop(input)).resolves.toEqual({
      turns: 2,
      messages: [
        ...input.messages,
        {
          role: 'assistant',
          content: 'look',
          reasoning: ['why'],
          toolCalls: [{ id: '1', name: 'read', input: { file_path: '/x' } }],
        },
        { role: 'tool', toolCallId: '1', toolName: 'read', content: 'ran read', isError: false },
        { role: 'assistant', content: 'Nothing to save.' },
      ],
    })
  })

  it('takes an empty answer as a finished run with empty text', async () => {
    const input = await loopInput({ model: scripted(() => ({})) })
    const { messages, turns } = await runMemoryAgentLoop(input)
    expect(turns).toBe(1)
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: '' })
    const nulls = scripted(() => ({ text: '', toolCalls: null }))
    expect((await runMemoryAgentLoop({ ...input, model: nulls })).turns).toBe(1)
  })

  it('asks at most maxTurns times and still executes the calls of the last answer', async () => {
    for (const maxTurns of [1, 5]) {
      const model = scripted((_, turn) => ({
        toolCalls: [call(`${turn}`, 'read', { file_path: `/${turn}` })],
      }))
      const executed: string[] = []
      const executeTool = ({ id }: MemoryAgentAllowedCall) => {
        executed.push(id)
        return 'ok'
      }
      const input = await loopInput({ model, maxTurns, executeTool })
      const { messages, turns } = await runMemoryAgentLoop(input)
      expect(turns).toBe(maxTurns)
      expect(model.requests).toHaveLength(maxTurns)
      expect(executed).toEqual(Array.from({ length: maxTurns }, (_, index) => `${index + 1}`))
      expect(messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: `${maxTurns}` })
    }
  })

  it('hands on the tool list unchanged in every request', async () => {
    const tools = Object.freeze([Object.freeze({ name: 'read', description: 'd' })])
    const model = scripted((_, turn) => (turn < 3 ? { toolCalls: [call('1', 'read', {})] } : {}))
    await runMemoryAgentLoop(await loopInput({ model, tools }))
    expect(model.requests.map((request) => request.tools === tools)).toEqual([true, true, true])
  })

  it('shares no message with the model or the caller', async () => {
    const seen: string[] = []
    const answered = { file_path: '/x' }
    const toolCalls = [call('1', 'read', answered)]
    const model = scripted((request, turn) => {
      seen.push(JSON.stringify(request.messages))
      for (const message of request.messages) message['content'] = 'changed by the model'
      request.messages.length = 0
      if (turn === 3) answered.file_path = 'changed by the model'
      return turn < 3 ? { text: 'again', toolCalls } : {}
    })
    const executeTool = ({ input: args }: MemoryAgentAllowedCall) => {
      args['file_path'] = 'changed by the executor'
      return 'ok'
    }
    const messages: MemoryAgentMessage[] = [{ role: 'user', content: [{ text: 'go' }] }]
    const before = JSON.stringify(messages)
    const result = await runMemoryAgentLoop(await loopInput({ model, messages, executeTool }))
    expect(JSON.stringify(messages)).toBe(before)
    expect(seen[2]?.startsWith(seen[1]?.slice(0, -1) ?? '?')).toBe(true)
    expect(JSON.stringify(result.messages)).not.toContain('changed by')
    expect(result.messages[0]).not.toBe(messages[0])
  })

  it('runs the calls of one turn at the same time and answers in call order', async () => {
    const toolCalls = ['a', 'b', 'c'].map((id) => call(id, 'read', { file_path: `/${id}` }))
    const model = scripted((_, turn) => (turn === 1 ? { toolCalls } : {}))
    const releases = new Map<string, () => void>()
    const executeTool = async ({ id }: MemoryAgentAllowedCall) => {
      await new Promise<void>((resolve) => {
        releases.set(id, resolve)
        if (releases.size === 3) for (const key of ['c', 'b', 'a']) releases.get(key)?.()
      })
      return id
    }
    const { messages } = await runMemoryAgentLoop(await loopInput({ model, executeTool }))
    expect(messages.slice(2, 5).map((message) => message['content'])).toEqual(['a', 'b', 'c'])
  })

  it('answers malformed arguments per call and runs the others', async () => {
    const toolCalls = [
      call('ok', 'read', '{"file_path":"/x"}'),
      call('null', 'bash', null),
      call('array', 'write', '[1]'),
      call('broken', 'edit', '{"path": "/x'),
      call('twice', 'read', JSON.stringify(JSON.stringify({ file_path: '/x' }))),
      call('number', 'bash', { command: 5 }),
      call('missing', 'bash', {}),
      call('empty', 'bash', { command: '' }),
      call('text', 'bash', 'ls'),
      call('none', 'read', undefined),
    ]
    const model = scripted((_, turn) => (turn === 1 ? { toolCalls } : { text: 'done' }))
    const executed: unknown[] = []
    const executeTool = (allowed: MemoryAgentAllowedCall) => {
      executed.push(allowed)
      return 'ok'
    }
    const { messages, turns } = await runMemoryAgentLoop(await loopInput({ model, executeTool }))
    expect(executed).toEqual([{ id: 'ok', name: 'read', input: { file_path: '/x' } }])
    expect(turns).toBe(2)
    const results = messages.filter((message) => message['role'] === 'tool')
    expect(results.map((result) => result['toolCallId'])).toEqual(toolCalls.map(({ id }) => id))
    expect(results.map((result) => result['isError'])).toEqual(
      toolCalls.map(({ id }) => id !== 'ok'),
    )
    expect(results.every((result) => result['content'] !== '')).toBe(true)
  })

  it('answers refused and unknown calls with the reason and goes on', async () => {
    const names = [
      'Write',
      'BASH',
      'bash ',
      'Agent',
      'mcp__fs__write_file',
      'task',
      '',
      '__proto__',
    ]
    const toolCalls = [
      ...names.map((name, index) => call(`${index}`, name, {})),
      call('w', 'write', { file_path: '/etc/passwd', content: '' }),
      call('s', 'bash', { command: 'touch x' }),
      {} as MemoryAgentToolCall,
      null as unknown as MemoryAgentToolCall,
    ]
    const model = scripted((_, turn) => (turn === 1 ? { toolCalls } : {}))
    const executeTool = () => {
      throw new Error('must not run')
    }
    const input = await loopInput({ model, executeTool })
    const { messages, turns } = await runMemoryAgentLoop(input)
    expect(turns).toBe(2)
    const results = messages.filter((message) => message['role'] === 'tool')
    expect(results).toHaveLength(toolCalls.length)
    for (const { content, isError, toolCallId } of results) {
      expect(isError).toBe(true)
      expect(toolCallId).not.toBe('')
      const text = content as string
      expect(text.startsWith('No such tool available: ') || text.includes(input.rootDir)).toBe(true)
    }
  })

  it('passes on what the executor returns', async () => {
    const outcomes: MemoryAgentToolOutcome[] = [
      'text',
      { content: [{ type: 'text', text: 'block' }] },
      { content: 'bad', isError: true },
      { isError: true },
      undefined,
    ]
    const toolCalls = outcomes.map((_, index) => call(`${index}`, 'read', {}))
    const model = scripted((_, turn) => (turn === 1 ? { toolCalls } : {}))
    const executeTool = ({ id }: MemoryAgentAllowedCall) => outcomes[Number(id)]
    const { messages } = await runMemoryAgentLoop(await loopInput({ model, executeTool }))
    expect(messages.slice(2, 7).map(({ content, isError }) => [content, isError])).toEqual([
      ['text', false],
      [[{ type: 'text', text: 'block' }], false],
      ['bad', true],
      ['', true],
      ['', false],
    ])
  })
})
