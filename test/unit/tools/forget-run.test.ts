import { describe, expect, test } from 'vitest'
import { runForget } from '../../../src/tools/forget-run.ts'
import { runSave } from '../../../src/tools/save-run.ts'
import { linesOf, memoryFilesOf, snapshotOf } from '../../support/test-memory.ts'
import type { ToolWorld } from '../../support/tool-world.ts'
import { lossyParts, toolWorld } from '../../support/tool-world.ts'

const SECRET = 'sesame-7f3a'

/** A memory with two entries. */
async function filledWorld(): Promise<ToolWorld> {
  const world = await toolWorld()
  for (const key of ['Pier', 'Harbour']) {
    await runSave({ key, content: `About ${key}.` }, world.exec, world.options)
  }
  return world
}

const forget = ({ exec, options }: ToolWorld, args: unknown): ReturnType<typeof runForget> =>
  runForget(args, exec, options)

describe('a memory is forgotten', () => {
  test.each([{ key: 'Pier' }, { key: ' pier ' }, { fileName: 'pier.md' }])(
    'by %j',
    async (args) => {
      const world = await filledWorld()
      const result = await forget(world, args)
      expect(result).toMatchObject({ forgotten: true, fileName: 'pier.md', title: 'Pier' })
      expect(await memoryFilesOf(world.memory)).toEqual(['harbour.md'])
      expect(await linesOf(world.memory)).toEqual(['- [Harbour](harbour.md) — About Harbour.'])
      expect(lossyParts(result)).toEqual([])
    },
  )

  test('with a copy, until a day that the result tells', async () => {
    const world = await filledWorld()
    const result = await forget(world, { key: 'Pier' })
    expect(result).toHaveProperty('undoUntil', expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/))
    expect(result).toHaveProperty('note', expect.stringMatching(/kept until.*undo.*purge: true/))
    await world.memory.store.undo()
    expect(await memoryFilesOf(world.memory)).toEqual(['harbour.md', 'pier.md'])
  })

  test('for good when asked to', async () => {
    const world = await filledWorld()
    const result = await forget(world, { key: 'Pier', purge: true })
    expect(result).toMatchObject({
      undoUntil: null,
      note: expect.stringContaining('cannot be undone'),
    })
    expect(lossyParts(result)).toEqual([])
    expect(await world.memory.store.listTrash()).toEqual([])
  })
})

describe('nothing is forgotten', () => {
  test.each<[unknown, RegExp]>([
    [{}, /give either key or fileName/],
    [{ key: 'Pier', fileName: 'pier.md' }, /give either key or fileName/],
    [{ key: ' ' }, /key must be a string that is not blank/],
    [{ key: 5 }, /key must be a string/],
    [{ key: null }, /key must be a string/],
    [{ fileName: ['pier.md'] }, /fileName must be a string/],
    [{ fileName: `../${SECRET}.md` }, /file name/],
    [{ fileName: 'MEMORY.md' }, /file name/],
    [{ key: 'Pier', purge: 'yes' }, /purge must be true or false/],
    [{ key: 'Pier', force: SECRET }, /unknown argument "force"/],
    ['Pier', /arguments must be an object with key or fileName/],
  ])('for the arguments %j', async (args, message) => {
    const world = await filledWorld()
    const before = await snapshotOf(world.memory)
    const refused = await forget(world, args).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Error)
    expect((refused as Error).message).toMatch(message)
    expect((refused as Error).message).not.toContain(SECRET)
    expect(await snapshotOf(world.memory)).toEqual(before)
  })

  test('for an unknown memory, but the closest names are told', async () => {
    const world = await filledWorld()
    await expect(forget(world, { key: 'Harbor' })).rejects.toThrow(/key: no memory.*harbour\.md/)
    await expect(forget(world, { fileName: 'piers.md' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('without a project, by a sub-agent, or in a read-only session', async () => {
    const world = await filledWorld()
    const before = await snapshotOf(world.memory)
    world.caller.isSubAgent = true
    const bySubAgent = await forget(world, { key: 'Pier' })
    expect(bySubAgent).toMatchObject({ forgotten: false })
    expect(lossyParts(bySubAgent)).toEqual([])
    world.caller.isSubAgent = false
    world.caller.sandboxMode = 'read-only'
    await expect(forget(world, { key: 'Pier' })).rejects.toMatchObject({ code: 'READ_ONLY' })
    world.caller.project = undefined
    expect(await forget(world, { key: 'Pier' })).toMatchObject({ forgotten: false })
    expect(await snapshotOf(world.memory)).toEqual(before)
  })
})
