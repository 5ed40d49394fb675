/**
 * What sub-agents are shown of the memory, and that they leave it alone.
 */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  callTool,
  hostSupport,
  type ModelStep,
  type RecordedRequest,
} from '../support/host/index.mjs'
import {
  indexIn,
  MemoryHost,
  memoryTree,
  ROW,
  saveStep,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

const FORGET = 'forget_project_memory'

describe.skipIf(!hostSupport().supported)('sub-agents', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  /** One turn of the parent that delegates; what the child was asked, in order. */
  async function delegate(
    parent: string,
    tool: 'subagent' | 'subagent_fork',
    ...steps: ModelStep[]
  ): Promise<RecordedRequest[]> {
    const prompt = memory.prompt(...steps)
    const waits = tool === 'subagent' ? { run_in_background: false } : {}
    const { toolCalls } = await memory.turn(
      parent,
      callTool(tool, { description: 'look', prompt, ...waits }),
    )
    expect(toolCalls).toMatchObject([{ isError: false, result: 'Done.' }])
    return memory.model
      .requests()
      .filter(({ sessionId, prompts }) => sessionId !== parent && prompts.includes(prompt))
  }

  /** A session in a project with one memory; it has completed a turn. */
  async function sessionWithMemory(project: string): Promise<string> {
    await memory.save(await memory.session(project), { key: 'Known', content: 'Known fact.' })
    const session = await memory.session(project)
    await memory.turn(session)
    return session
  }

  test('a spawned one sees guidance and tools but no index, and its save and forget do nothing', async () => {
    const parent = await sessionWithMemory('spawned')
    const before = await memoryTree(memory.home)
    const child = await delegate(
      parent,
      'subagent',
      saveStep({ key: 'From a child', content: 'x' }),
      callTool(FORGET, { key: 'Known' }),
    )
    expect(child).toHaveLength(3)
    for (const request of child) {
      expect(request.snapshots.map(indexIn).join('')).toBe('')
      expect(shownGuidance(request)).toBe(shownGuidance(memory.lastRequest(parent)))
      for (const name of ['save_project_memory', FORGET]) {
        expect(request.tool(name)).toEqual(memory.lastRequest(parent).tool(name))
      }
    }
    expect(child[2]?.toolResults.map(({ text }) => JSON.parse(text))).toEqual([
      { saved: false, reason: expect.stringMatching(/sub-agent .* report/) },
      { forgotten: false, reason: expect.stringMatching(/sub-agent .* report/) },
    ])
    expect(await memoryTree(memory.home)).toEqual(before)
  })

  test("a forked one keeps its parent's prefix and exactly the index its parent was shown", async () => {
    const parent = await sessionWithMemory('forked')
    await memory.save(parent, { key: 'Later', content: 'Not in the parent’s index.' })
    const before = await memoryTree(memory.home)
    const child = await delegate(
      parent,
      'subagent_fork',
      saveStep({ key: 'From a fork', content: 'x' }),
    )
    const shown = memory.lastRequest(parent)
    expect(shownIndex(shown)).toContain('- [Known](known.md)')
    expect(child).toHaveLength(2)
    for (const request of child) {
      expect(request.system).toBe(shown.system)
      expect(JSON.stringify(request.body.tools)).toBe(JSON.stringify(shown.body.tools))
      expect(new Set(request.snapshots.map(indexIn))).toEqual(new Set([shownIndex(shown)]))
      expect(request.includes('Later](')).toBe(false)
    }
    expect(JSON.parse(child[1]?.toolResults.at(-1)?.text ?? '')).toMatchObject({ saved: false })
    expect(await memoryTree(memory.home)).toEqual(before)
  })

  test("a fork in its parent's first turn has no log to take an index from, only the same prefix", async () => {
    await sessionWithMemory('first turn')
    const parent = await memory.session('first turn')
    const child = await delegate(parent, 'subagent_fork')
    const shown = memory.lastRequest(parent)
    expect(shownIndex(shown)).toContain('- [Known](known.md)')
    expect(child).toHaveLength(1)
    expect(child[0]?.system).toBe(shown.system)
    expect(JSON.stringify(child[0]?.body.tools)).toBe(JSON.stringify(shown.body.tools))
    expect(child[0]?.snapshots.map(indexIn)).toEqual([''])
  })

  // Last of this file: it restarts the plugin.
  test('with subagents: all both kinds get the index and save under their own session', async () => {
    await sessionWithMemory('all')
    await memory.host.setRow(ROW, { config: { subagents: 'all' } })
    const parent = await memory.session('all')
    await memory.turn(parent)
    for (const tool of ['subagent', 'subagent_fork'] as const) {
      const child = await delegate(
        parent,
        tool,
        saveStep({ key: `Found by ${tool}`, content: 'x' }),
      )
      expect(shownIndex(child[0])).toContain('- [Known](known.md)')
      expect(shownGuidance(child[0])).not.toContain('A sub-agent saves')
      expect(child[0]?.system).toContain(shownGuidance(memory.lastRequest(parent)))
      const result = JSON.parse(child[1]?.toolResults.at(-1)?.text ?? '') as { filePath: string }
      expect(result).toMatchObject({ saved: true })
      const id = child[0]?.sessionId ?? ''
      expect(id).not.toBe(parent)
      expect(await readFile(result.filePath, 'utf8')).toContain(`originSessionId: "${id}"`)
    }
  })
})
