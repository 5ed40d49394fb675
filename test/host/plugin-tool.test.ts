/**
 * The save tool in the host's own tool pipeline: arguments, permissions, results and cards.
 */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostSupport } from '../support/host/index.mjs'
import {
  MemoryHost,
  memoryPaths,
  memoryTree,
  SAVE,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

/** Stands in every refused value: it must be in no message and no log. */
const SECRET = 'sesame-7f3a'
const EMOJI = '🦑'

const REFUSED: [rule: string, args: unknown, message: RegExp][] = [
  [
    'content of 8,001 units',
    { key: 'k', content: SECRET.padEnd(8001, 'x') },
    /content.*8001.*8000/,
  ],
  ['8,000 emoji', { key: 'k', content: EMOJI.repeat(8000) }, /content.*16000.*8000/],
  ['empty content', { key: SECRET, content: '' }, /content must not be blank/],
  ['blank content', { key: SECRET, content: ' \n\t ' }, /content must not be blank/],
  ['content with NUL', { key: 'k', content: `${SECRET}\0` }, /content.*NUL.*position 11/],
  [
    'a lone surrogate',
    { key: 'k', content: `${SECRET}\ud83d.` },
    /content.*surrogate.*position 11/,
  ],
  ['content as number', { key: SECRET, content: 73 }, /content must be a string; got number/],
  ['no content', { key: SECRET }, /content must be a string; got undefined/],
  ['no key', { content: SECRET }, /key must be a string; got undefined/],
  ['a blank key', { key: '  ', content: SECRET }, /key must not be blank/],
  ['a key as array', { key: [SECRET], content: 'x' }, /key must be a string; got an array/],
  ['a key of 1,001 units', { key: SECRET.padEnd(1001, 'x'), content: 'x' }, /key.*1001.*1000/],
  ['another case of a type', { key: SECRET, content: 'x', type: 'Project' }, /type must be one of/],
  ['an unknown type', { key: 'k', content: 'x', type: SECRET }, /type.*user, feedback, project/],
  ['no type but null', { key: SECRET, content: 'x', type: null }, /type must be one of/],
  [
    'a description as object',
    { key: 'k', content: 'x', description: { SECRET } },
    /description.*got object/,
  ],
  [
    'an unknown argument',
    { key: 'k', content: 'x', priority: SECRET },
    /unknown argument "priority".*key, content/,
  ],
  [
    'an odd argument name',
    { key: 'k', content: 'x', [`${SECRET}.`]: 1 },
    /unknown argument with an odd name/,
  ],
  [
    'the session as argument',
    { key: 'k', content: 'x', originSessionId: SECRET },
    /unknown argument "originSessionId"/,
  ],
  ['an array', [SECRET], /arguments must be an object with key and content/],
  ['null', 'null', /arguments must be an object with key and content/],
  ['broken JSON', `{"key": "${SECRET}`, /arguments must be an object with key and content/],
]

describe.skipIf(!hostSupport().supported)('the save tool', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    // The persona of the profile names the working directory, without which no turn begins.
    memory = await MemoryHost.start({
      rows: [{ id: 'system-prompt', config: { persona: 'You are a coding agent.' } }],
    })
  })

  afterAll(async () => {
    const { code, stderr } = (await memory?.stop()) ?? {}
    expect(code).toBe(0)
    expect(stderr).not.toContain(SECRET)
  })

  test('wrong arguments are refused naming the argument and never its value', async () => {
    const session = await memory.session('arguments')
    const { toolCalls, reason } = await memory.turn(session, {
      toolCalls: REFUSED.map(([, args]) => ({ name: SAVE, arguments: args })),
    })
    expect(reason).toEqual({ kind: 'completed' })
    expect(toolCalls).toHaveLength(REFUSED.length)
    for (const [at, [rule, , message]] of REFUSED.entries()) {
      const { isError, result } = toolCalls[at] ?? { isError: false, result: '' }
      expect({ rule, isError, result }).toEqual({
        rule,
        isError: true,
        result: expect.stringMatching(message),
      })
      expect(result, rule).toMatch(/^Error: [^\n]{1,300}$/)
      expect(result, rule).not.toContain(SECRET)
      expect(result, rule).not.toContain(EMOJI)
    }
    const { root } = memoryPaths(memory.home, await memory.home.project('arguments'))
    expect(await memoryTree(memory.home)).not.toContain(root)
    expect(shownIndex(await memory.freshRequest('arguments'))).toBe('')
  })

  test('arguments at their limits are saved, and the index entry stays short', async () => {
    const session = await memory.session('limits')
    const content = `${SECRET}\n`.padEnd(8000, EMOJI)
    expect(content).toHaveLength(8000)
    const full = await memory.save(session, { key: 'Full', content, type: 'reference' })
    const long = await memory.save(session, {
      key: 'Long description '.repeat(50),
      content: 'x',
      description: 'word '.repeat(1000),
    })
    const blank = await memory.save(session, {
      key: 'Blank',
      content: 'Derived.',
      description: ' ',
    })
    expect([full, long, blank].map(({ isError }) => isError)).toEqual([false, false, false])
    expect(await readFile(String(full.value['filePath']), 'utf8')).toContain(`\n\n${content}\n`)
    const lines = shownIndex(await memory.freshRequest('limits'))
      .split('\n')
      .slice(2, -1)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(200)
    expect(lines[2]).toBe('- [Blank](blank.md) — Derived.')
  })

  test('a session without a working directory has no memory, and says so', async () => {
    const before = await memoryTree(memory.home)
    const session = await memory.host.create({})
    const wrong = await memory.save(session, { key: 'k', content: '' })
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('content') })
    for (const _ of [1, 2]) {
      const { isError, value } = await memory.save(session, { key: 'k', content: 'x' })
      expect(isError).toBe(false)
      expect(value).toEqual({
        saved: false,
        reason: expect.stringMatching(/no working directory/),
      })
    }
    const request = memory.lastRequest(session)
    expect(shownGuidance(request)).toBe('')
    expect(request.snapshots).toHaveLength(1)
    expect(request.snapshots.join('')).not.toContain('MEMORY.md')
    expect(await memoryTree(memory.home)).toEqual(before)
  })

  test('a read-only session saves and forgets nothing, and the error names the mode', async () => {
    await memory.save(await memory.session('modes'), { key: 'Kept', content: 'x' })
    const before = await memoryTree(memory.home)
    const session = await memory.session('modes')
    await memory.mark(session, 'sandbox/mode', { mode: 'read-only' })
    const saved = await memory.save(session, { key: 'k', content: SECRET })
    const forgotten = await memory.call(session, 'forget_project_memory', { key: 'Kept' })
    for (const { isError, text } of [saved, forgotten]) {
      expect(isError).toBe(true)
      expect(text).toMatch(/^Error: [^\n]*sandbox mode is read-only[^\n]*$/)
      expect(text).not.toContain(SECRET)
    }
    expect(await memoryTree(memory.home)).toEqual(before)
    expect(shownIndex(memory.lastRequest(session))).toContain('- [Kept](kept.md)')

    await memory.mark(session, 'sandbox/mode', { mode: 'workspace-write' })
    expect((await memory.save(session, { key: 'k', content: 'x' })).value).toMatchObject({
      saved: true,
    })
  })

  test('neither plan mode nor approval policy never stops a save', async () => {
    const session = await memory.session('plan')
    await memory.mark(session, 'plan/mode', { active: true })
    await memory.mark(session, 'approval/policy', { policy: 'never' })
    const { value } = await memory.save(session, { key: 'Planned', content: 'x' })
    expect(value).toMatchObject({ saved: true })
    const events = await memory.host.events(session)
    expect(events.filter(({ type }) => type.startsWith('approval/asked'))).toEqual([])
  })

  test('the cards come from arguments and meta alone, and odd input gives the generic card', async () => {
    const session = await memory.session('cards')
    const args = { key: 'Pier', content: 'Old pier.' }
    await memory.save(session, args)
    await memory.save(session, { ...args, content: 'New pier.' })
    const shown = await memory.host.evaluate(
      (ctx, name, agent) => {
        const tool = ctx.tools.get(name, agent)
        const results = agent.session.events.filter(
          (event: { type: string }) => event.type === 'tool/result',
        )
        const call = Object.freeze({ key: 'Pier', content: 'New pier.' })
        const present = (result: object): unknown =>
          tool.presentResult(call, { content: [], isError: false, ...result })
        const odd = [
          undefined,
          null,
          1,
          'text',
          [],
          {},
          { key: 1 },
          { key: 'k' },
          { key: 'k', content: 2 },
        ]
        return {
          meta: results.map((event: { data: { meta: unknown } }) => event.data.meta),
          call: tool.presentCall(call),
          results: results.map(({ data }: { data: { meta: unknown } }) =>
            present({ meta: data.meta }),
          ),
          again: results.map(({ data }: { data: { meta: unknown } }) =>
            present({ meta: data.meta }),
          ),
          refused: present({ meta: { saved: false, reason: 'r' } }),
          oddCalls: odd.slice(0, 7).filter((value) => tool.presentCall(value) !== undefined),
          oddResults: odd.filter(
            (value) =>
              tool.presentResult(value, {
                content: [],
                isError: false,
                meta: results[0].data.meta,
              }) !== undefined,
          ),
          failed: present({ isError: true }) ?? null,
          oddMeta: [undefined, null, 1, 'text', [], {}, { fileName: 1 }].map(
            (meta) => present({ meta }) ?? null,
          ),
        }
      },
      SAVE,
      session,
    )
    expect(shown.meta).toMatchObject([
      { saved: true, replaced: false },
      { saved: true, replaced: true },
    ])
    expect(shown.call).toEqual({ card: 'generic', kind: 'edit', title: 'Remember: Pier' })
    const diffs = [{ path: 'pier.md', oldText: null, newText: 'New pier.' }]
    expect(shown.results).toEqual([
      { card: 'diff', title: 'Remembered: Pier', diffs },
      { card: 'diff', title: 'Updated memory: Pier', diffs },
    ])
    expect(shown.again).toEqual(shown.results)
    expect(shown.refused).toEqual({ card: 'generic', title: 'Not remembered: Pier' })
    expect(shown.oddCalls).toEqual([])
    expect(shown.oddResults).toEqual([])
    expect(shown.failed).toBe(null)
    for (const view of shown.oddMeta) expect(view).not.toMatchObject({ card: 'diff' })
  })
})
