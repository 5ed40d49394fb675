/**
 * What the plugin does not do: no writes, no model calls, no reading at a model step.
 */
import { existsSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callTool, hostSupport } from '../support/host/index.mjs'
import { MemoryHost, memoryTree } from '../support/memory-host.ts'

describe.skipIf(!hostSupport().supported)('a session that saves nothing', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  test('writes nothing, makes no folder and asks the model nothing', async () => {
    const session = await memory.session('quiet')
    await memory.turn(session)
    await memory.turn(session, callTool('bash', { command: 'true', description: 'do nothing' }))
    await memory.turn(session)
    expect(existsSync(join(memory.home.dshHome, 'memories'))).toBe(false)
    expect(memory.model.requests()).toHaveLength(4)
    expect(memory.model.titles()).toHaveLength(1)
    expect(memory.model.compactions()).toEqual([])
    expect(memory.model.faults()).toEqual([])
  })

  test('leaves an existing memory untouched', async () => {
    await memory.save(await memory.session('kept'), { key: 'Kept', content: 'x' })
    const state = async (): Promise<string[]> =>
      Promise.all(
        (await memoryTree(memory.home)).map(async (path) => {
          const stats = await lstat(join(memory.home.dshHome, 'memories', path), { bigint: true })
          return `${path} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`
        }),
      )
    const before = await state()
    const session = await memory.session('kept')
    for (const _ of [1, 2, 3]) await memory.turn(session)
    expect(await state()).toEqual(before)
  })

  test('a model step calls no function of the file system for an index that was read', async () => {
    await memory.save(await memory.session('hot'), { key: 'Hot', content: 'x' })
    const session = await memory.session('hot')
    const counts = await memory.host.evaluate(
      async (ctx, _argument, agent) => {
        const { process } = globalThis as unknown as {
          process: { getBuiltinModule: (name: string) => Record<string, unknown> }
        }
        const fs = process.getBuiltinModule('node:fs') as Record<string, any>
        const { syncBuiltinESMExports } = process.getBuiltinModule('node:module') as any
        const restore: (() => void)[] = []
        let calls = 0
        for (const module of [fs, fs['promises']]) {
          for (const [name, value] of Object.entries(module)) {
            // A class is called with new, which the wrapper would not survive.
            if (typeof value !== 'function' || /^[A-Z_]/.test(name)) continue
            restore.push(() => {
              module[name] = value
            })
            module[name] = function (this: unknown, ...args: unknown[]): unknown {
              calls += 1
              return value.apply(this, args)
            }
          }
        }
        syncBuiltinESMExports()
        try {
          const own = ['sections', 'contexts'].flatMap((kind) =>
            [...ctx.systemPrompt.layers.global[kind].entries()]
              .map(([, entry]: [string, any]) => entry)
              .filter(({ name }: { name: string }) => name.startsWith('project-memory')),
          )
          const textsOf = (asking: unknown): string[] =>
            own.map(({ text }) => text({ agent: asking, scope: asking }))
          const texts = textsOf(agent)
          const warm = calls
          for (let step = 0; step < 1000; step += 1) textsOf(agent)
          const steps = calls - warm
          const stranger = { session: Object.create(agent.session), options: agent.options }
          textsOf(stranger)
          return { texts, warm, steps, first: calls - warm - steps }
        } finally {
          for (const undo of restore) undo()
          syncBuiltinESMExports()
        }
      },
      undefined,
      session,
    )
    expect(counts.texts).toEqual([
      expect.stringContaining('# Persistent Project Memory'),
      expect.stringContaining('- [Hot](hot.md)'),
    ])
    expect(counts).toMatchObject({ warm: 0, steps: 0 })
    // A session that nobody has looked at yet shows that the counter counts.
    expect(counts.first).toBeGreaterThan(0)
  })
})
