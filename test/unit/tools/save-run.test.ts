import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runSave } from '../../../src/tools/save-run.ts'
import {
  givenFiles,
  holdLock,
  indexOf,
  linesOf,
  litterOf,
  snapshotOf,
} from '../../support/test-memory.ts'
import type { ToolWorld } from '../../support/tool-world.ts'
import { lossyParts, toolWorld } from '../../support/tool-world.ts'

const SECRET = 'sesame-7f3a'
const ARGS = { key: 'Pier', content: 'Old pier.' }

const save = ({ exec, options }: ToolWorld, args: unknown = ARGS): ReturnType<typeof runSave> =>
  runSave(args, exec, options)

const indexLines = (count: number): string =>
  Array.from({ length: count }, (_, at) => `- [Note ${at}](note-${at}.md) — about ${at}\n`).join('')

describe('the result of a save', () => {
  test('tells file, size, whether it replaced, and how the index stands', async () => {
    const world = await toolWorld()
    const { root } = world.memory.paths
    const first = await save(world)
    expect(first).toEqual({
      saved: true,
      fileName: 'pier.md',
      filePath: join(root, 'pier.md'),
      bytes: expect.any(Number),
      replaced: false,
      shownInIndex: true,
      indexEntries: 1,
      indexLineLimit: 200,
    })
    expect(await save(world, { ...ARGS, content: 'New pier.' })).toMatchObject({ replaced: true })
    const snapshot = await snapshotOf(world.memory)
    expect(snapshot['pier.md']).toContain('originSessionId: "session-1"')
    expect(first).toMatchObject({ bytes: Buffer.byteLength(snapshot['pier.md'] ?? '', 'latin1') })
  })

  test('over the limit says which entries sessions see, with this one among the recent', async () => {
    const world = await toolWorld({ indexLineLimit: 3 })
    await givenFiles(world.memory, { 'MEMORY.md': indexLines(3) })
    expect(await save(world)).toMatchObject({
      shownInIndex: true,
      indexEntries: 4,
      indexLineLimit: 3,
      note: expect.stringMatching(/limits \(3 lines, 25000 characters\).*most recently written/),
    })
  })

  test('over the limit with overflow: head says that this one is not shown', async () => {
    const world = await toolWorld({ indexLineLimit: 3, overflow: 'head' })
    await givenFiles(world.memory, { 'MEMORY.md': indexLines(3) })
    const result = await save(world)
    expect(result).toMatchObject({ shownInIndex: false, indexEntries: 4 })
    expect(result).toHaveProperty('note', expect.stringMatching(/first lines.*not among them/))
    const again = await save(world, { key: 'Note 1', content: 'x' })
    expect(again).toMatchObject({ shownInIndex: true })
    expect(again).toHaveProperty('note', expect.not.stringContaining('not among them'))
  })

  test('an entry too long for the limit of characters is not told to be shown', async () => {
    const world = await toolWorld({ indexCharacterLimit: 10 })
    expect(await save(world)).toMatchObject({ shownInIndex: false, note: expect.any(String) })
  })

  test('is lossless JSON of every kind', async () => {
    const world = await toolWorld({ indexLineLimit: 1 })
    const results = [await save(world), await save(world, { ...ARGS, key: 'Other' })]
    world.caller.isSubAgent = true
    results.push(await save(world))
    expect(results.map((result) => Object.keys(result).length)).toEqual([8, 9, 2])
    for (const result of results) expect(lossyParts(result)).toEqual([])
  })
})

describe('a save that is not made', () => {
  test('checks the arguments before the project, and the project before the sandbox mode', async () => {
    const world = await toolWorld()
    world.caller.project = undefined
    world.caller.sandboxMode = 'read-only'
    await expect(save(world, { key: 'k', content: '' })).rejects.toThrow(
      'content must not be blank',
    )
    expect(await save(world)).toEqual({
      saved: false,
      reason: expect.stringContaining('no project'),
    })
    world.caller.project = world.memory.paths
    await expect(save(world, { key: 'k', content: '' })).rejects.toThrow(
      'content must not be blank',
    )
    await expect(save(world)).rejects.toMatchObject({ code: 'READ_ONLY' })
    expect(existsSync(world.memory.paths.root)).toBe(false)
  })

  test('by a sub-agent is a normal result, and is made when sub-agents may save', async () => {
    const world = await toolWorld()
    world.caller.isSubAgent = true
    expect(await save(world)).toMatchObject({ saved: false })
    expect(existsSync(world.memory.paths.root)).toBe(false)
    const open = await toolWorld({ subagents: 'all' })
    open.caller.isSubAgent = true
    expect(await save(open)).toMatchObject({ saved: true })
  })

  test('for the disk fails with one line, without content, and leaves what was there', async () => {
    const world = await toolWorld()
    const damaged = Buffer.from([0xb2, 0xbf, 0x0a])
    await givenFiles(world.memory, { 'MEMORY.md': damaged })
    const before = await snapshotOf(world.memory)
    const refused = await save(world, { key: 'k', content: SECRET }).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ code: 'NOT_UTF8' })
    const { message } = refused as Error
    expect(message).toMatch(/^[^\n]*MEMORY\.md[^\n]*$/)
    expect(message).not.toContain(SECRET)
    expect(await snapshotOf(world.memory)).toEqual(before)
  })

  test('because it was given up leaves nothing', async () => {
    const world = await toolWorld()
    const release = await holdLock(world.memory)
    const saving = save(world)
    await new Promise((resolve) => setImmediate(resolve))
    world.controller.abort()
    await expect(saving).rejects.toMatchObject({ name: 'AbortError' })
    await release()
    expect(await snapshotOf(world.memory)).toEqual({})
    expect(await litterOf(world.memory)).toEqual([])
  })
})

test('a memory with a directory in place of its file fails and names the path', async () => {
  const world = await toolWorld()
  await mkdir(join(world.memory.paths.root, 'pier.md'), { recursive: true })
  await expect(save(world)).rejects.toThrow(/pier\.md/)
  expect(await indexOf(world.memory)).toBe('')
})

test('lines of other hands stay, and the saved line is in the index', async () => {
  const world = await toolWorld()
  await givenFiles(world.memory, {})
  await writeFile(world.memory.paths.indexFilePath, '# By hand\n\n- prose\n')
  await save(world)
  expect(await linesOf(world.memory)).toEqual([
    '# By hand',
    '- prose',
    '- [Pier](pier.md) — Old pier.',
  ])
})
