import { describe, expect, test } from 'vitest'
import {
  containsDirectMemoryWrite,
  containsEligibleUserProse,
  countMessagesAfterCursor,
  evaluateMemoryExtraction,
  type MemoryExtractionSnapshot,
  type MemoryTranscriptMessage,
  type MemoryTranscriptPart,
  MINIMUM_USER_WORDS,
} from '../../../src/subsystems/extraction/index.ts'

const ROOT = '/home/u/.dsh/memories/projects/p-0123456789abcdef/memory'
const PROSE = 'please always run the slow tests'

function message(
  id: string,
  role: string,
  parts: readonly MemoryTranscriptPart[],
  info: Partial<MemoryTranscriptMessage['info']> = {},
): MemoryTranscriptMessage {
  return { info: { id, role, ...info }, parts }
}

function says(id: string, text: string): MemoryTranscriptMessage {
  return message(id, 'user', [{ type: 'text', text }])
}

function calls(id: string, tool: string, input: unknown, status?: string): MemoryTranscriptMessage {
  const state = status === undefined ? { input } : { input, status }
  return message(id, 'assistant', [{ type: 'tool', tool, state }])
}

function snapshot(...durableMessages: MemoryTranscriptMessage[]): MemoryExtractionSnapshot {
  return {
    boundaryMessageId: durableMessages.at(-1)?.info.id ?? '',
    durableMessages,
    memoryRoot: ROOT,
    workingDirectory: '/work/p',
    workspaceRoot: '/work/p',
  }
}

describe('user prose', () => {
  test.each([
    ['记住：这个项目的迁移必须先在预发环境跑满二十四小时才能上生产', 'run'],
    ['run the tests now', 'run'],
    ['本番へ出す前に必ず確認してください', 'run'],
    ['ok', 'skip'],
    ['好的', 'skip'],
    ['继续', 'skip'],
    ['go on', 'skip'],
    ['... !!! ???', 'skip'],
    ['', 'skip'],
  ])('%s leads to %s', (text, decision) => {
    expect(evaluateMemoryExtraction(snapshot(says('m1', text)))).toMatchObject({ decision })
  })

  test('needs three words in one part; they are not added up', () => {
    expect(MINIMUM_USER_WORDS).toBe(3)
    const part = (text: string): MemoryTranscriptPart => ({ type: 'text', text })
    const twoAndTwo = message('m1', 'user', [part('one two'), part('three four')])
    expect(containsEligibleUserProse([twoAndTwo])).toBe(false)
    const twoAndThree = message('m1', 'user', [part('one two'), part('one two three')])
    expect(containsEligibleUserProse([twoAndThree])).toBe(true)
  })

  test('is looked for in the first 4,096 code units of a part', () => {
    expect(containsEligibleUserProse([says('m1', `${'.'.repeat(4090)} a b c`)])).toBe(true)
    expect(containsEligibleUserProse([says('m1', `${'.'.repeat(4096)} a b c`)])).toBe(false)
  })

  test.each([
    [
      'synthetic message',
      message('m1', 'user', [{ type: 'text', text: PROSE }], { synthetic: true }),
    ],
    [
      'message for the model only',
      message('m1', 'user', [{ type: 'text', text: PROSE }], { visibility: 'model-only' }),
    ],
    ['synthetic part', message('m1', 'user', [{ type: 'text', text: PROSE, synthetic: true }])],
    ['ignored part', message('m1', 'user', [{ type: 'text', text: PROSE, ignored: true }])],
    ['assistant', message('m1', 'assistant', [{ type: 'text', text: PROSE }])],
    ['tool part', message('m1', 'user', [{ type: 'tool', name: PROSE }])],
  ])('does not count from a %s', (_name, odd) => {
    expect(evaluateMemoryExtraction(snapshot(odd))).toStrictEqual({
      decision: 'skip',
      messageCount: 1,
      reason: 'no-user-prose',
    })
  })
})

describe('a direct memory write', () => {
  test.each([
    ['save_project_memory', { key: 'k', content: 'c' }],
    ['forget_project_memory', { key: 'k' }],
    ['write', { file_path: `${ROOT}/x.md` }],
    ['edit', { file_path: `${ROOT}/sub/../y` }],
    ['write', JSON.stringify({ file_path: `${ROOT}/x.md` })],
    ['write', { file_path: '../../home/u/.dsh/memories/projects/p-0123456789abcdef/memory/x.md' }],
    ['write', { file_path: `${ROOT}/..x.md` }],
  ])('by %s with %j skips, although there is prose', (tool, input) => {
    expect(
      evaluateMemoryExtraction(snapshot(says('m1', PROSE), calls('m2', tool, input))),
    ).toStrictEqual({
      decision: 'skip',
      messageCount: 2,
      reason: 'direct-memory-write',
    })
  })

  test.each([
    ['write', { file_path: `${ROOT}-evil/x.md` }],
    ['write', { file_path: '/work/p/src/x.ts' }],
    ['write', { file_path: 'src/x.ts' }],
    ['write', { file_path: ROOT }],
    ['write', { file_path: `${ROOT}/..` }],
    ['write', { file_path: `${ROOT}/../x.md` }],
    ['write', { file_path: '' }],
    ['write', { file_path: 7 }],
    ['write', '{broken'],
    ['write', undefined],
    ['read', { file_path: `${ROOT}/x.md` }],
    ['bash', { command: `rm ${ROOT}/x.md` }],
    ['save_project_memory_later', {}],
  ])('is not %s with %j', (tool, input) => {
    expect(
      evaluateMemoryExtraction(snapshot(says('m1', PROSE), calls('m2', tool, input))),
    ).toStrictEqual({ decision: 'run', messageCount: 2 })
  })

  test.each([
    ['error', false],
    ['denied', false],
    ['completed', true],
    ['running', true],
    [undefined, true],
  ])('whose call has the status %s counts: %s', (status, isCounted) => {
    const messages = [calls('m1', 'save_project_memory', {}, status)]
    expect(containsDirectMemoryWrite(messages)).toBe(isCounted)
  })

  test('counts only from the assistant, under either name field', () => {
    const part: MemoryTranscriptPart = { type: 'tool', name: 'save_project_memory' }
    expect(containsDirectMemoryWrite([message('m1', 'assistant', [part])])).toBe(true)
    expect(containsDirectMemoryWrite([message('m1', 'user', [part])])).toBe(false)
  })

  test('by path needs a snapshot that knows the memory root', () => {
    const write = calls('m1', 'write', { file_path: `${ROOT}/x.md` })
    const { memoryRoot: _root, ...rootless } = snapshot(write)
    expect(containsDirectMemoryWrite([write])).toBe(false)
    expect(containsDirectMemoryWrite(rootless)).toBe(false)
    expect(containsDirectMemoryWrite({ ...rootless, memoryRoot: 'relative' })).toBe(false)
    expect(containsDirectMemoryWrite(snapshot(write))).toBe(true)
  })

  test('by a relative path needs an absolute working directory', () => {
    const write = snapshot(calls('m1', 'write', { file_path: 'x.md' }))
    expect(containsDirectMemoryWrite({ ...write, workingDirectory: ROOT })).toBe(true)
    const here = { ...write, memoryRoot: process.cwd() }
    expect(containsDirectMemoryWrite({ ...here, workingDirectory: 'sub' })).toBe(false)
    const { workingDirectory: _none, ...placeless } = here
    expect(containsDirectMemoryWrite(placeless)).toBe(false)
  })
})

describe('the cursor', () => {
  const saved = snapshot(
    says('m1', PROSE),
    calls('m2', 'save_project_memory', {}),
    says('m3', PROSE),
    message('m4', 'assistant', [{ type: 'text', text: 'Done.' }]),
  )

  test('hides what lies before it', () => {
    expect(evaluateMemoryExtraction(saved)).toMatchObject({ reason: 'direct-memory-write' })
    expect(evaluateMemoryExtraction(saved, 'm2')).toStrictEqual({
      decision: 'run',
      messageCount: 2,
    })
    expect(evaluateMemoryExtraction(saved, 'm3')).toStrictEqual({
      decision: 'skip',
      messageCount: 1,
      reason: 'no-user-prose',
    })
  })

  test('at the last message leaves nothing to do', () => {
    expect(evaluateMemoryExtraction(saved, 'm4')).toStrictEqual({
      decision: 'skip',
      messageCount: 0,
      reason: 'no-user-prose',
    })
  })

  test('that is not in the history counts all messages and searches no old writes', () => {
    expect(evaluateMemoryExtraction(saved, 'gone')).toStrictEqual({
      decision: 'run',
      messageCount: 4,
    })
    expect(countMessagesAfterCursor(saved, 'gone')).toBe(4)
  })

  test('of an empty history leaves nothing to do', () => {
    const nothing = { decision: 'skip', messageCount: 0, reason: 'no-user-prose' }
    expect(evaluateMemoryExtraction(snapshot(), 'm1')).toStrictEqual(nothing)
    expect(evaluateMemoryExtraction(snapshot())).toStrictEqual(nothing)
  })

  test('stands at the last message of its id', () => {
    const messages = [says('m1', PROSE), says('m2', PROSE), says('m1', PROSE), says('m3', PROSE)]
    expect(countMessagesAfterCursor(messages, 'm1')).toBe(1)
    expect(countMessagesAfterCursor(messages)).toBe(4)
    expect(countMessagesAfterCursor(messages, '')).toBe(4)
  })
})

test('broken messages and parts are no messages and never throw', () => {
  const broken = [null, {}, { info: null, parts: [] }, { info: { id: 'm', role: 'user' } }]
  const messages = [
    ...broken,
    {
      info: { id: 'm1', role: 'user' },
      parts: [null, {}, { type: 'text' }, { type: 'text', text: 7 }],
    },
    {
      info: { id: 'm2', role: 'assistant' },
      parts: [null, { type: 'tool' }, { type: 'tool', state: null }],
    },
  ] as unknown as MemoryTranscriptMessage[]
  expect(evaluateMemoryExtraction(snapshot(...messages))).toStrictEqual({
    decision: 'skip',
    messageCount: 2,
    reason: 'no-user-prose',
  })
})

test('a snapshot without messages is refused, naming the field', () => {
  for (const wrong of [undefined, {}, { durableMessages: 'text' }]) {
    expect(() => evaluateMemoryExtraction(wrong as never)).toThrow(
      'snapshot.durableMessages must be an array',
    )
  }
})
