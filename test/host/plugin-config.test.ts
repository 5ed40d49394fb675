/**
 * The configuration of the plugin's row: what stops the host, and what a valid value changes.
 */
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hostSupport, removeHome, runHeadless, startScriptedModel } from '../support/host/index.mjs'
import {
  guidedDirectory,
  MemoryHost,
  memoryHome,
  memoryPaths,
  ROW,
  saveStep,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

describe.skipIf(!hostSupport().supported)('a wrong configuration', () => {
  test.each([
    [
      'an unknown key',
      { indexLinelimit: 3 },
      /unknown configuration key "indexLinelimit".*indexLineLimit/,
    ],
    ['a wrong value', { indexLineLimit: 0 }, /indexLineLimit/],
  ])('%s stops the host at its start, naming the key', async (_, config, message) => {
    const home = await memoryHome(config)
    const model = await startScriptedModel(['Never said.'])
    onTestFinished(async () => {
      await model.close()
      await removeHome(home)
    })
    const { code, stdout, stderr } = await runHeadless({ home, model, task: 'Go.' })
    expect(code).not.toBe(0)
    expect(stdout + stderr).toMatch(message)
    expect(model.requests()).toEqual([])
  })
})

describe.skipIf(!hostSupport().supported)('a valid configuration', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  /** Restarts the plugin with a configuration. */
  const configure = (config: Record<string, unknown>): Promise<void> =>
    memory.host.setRow(ROW, { config })

  /** A project with an index of so many entries; entry `at` was written in minute `minuteOf(at)`. */
  async function projectWith(
    project: string,
    count: number,
    minuteOf?: (at: number) => number,
  ): Promise<void> {
    const paths = memoryPaths(memory.home, await memory.home.project(project))
    await mkdir(paths.root, { recursive: true })
    let index = ''
    for (let at = 1; at <= count; at += 1) {
      index += `- [Note ${at}](note-${at}.md) — about ${at}\n`
      if (minuteOf === undefined) continue
      const file = join(paths.root, `note-${at}.md`)
      const date = new Date(Date.UTC(2020, 0, 1, 0, minuteOf(at)))
      await writeFile(file, `Note ${at}.\n`)
      await utimes(file, date, date)
    }
    await writeFile(paths.indexFilePath, index)
  }

  /** Numbers of the notes that a new session is shown, and the whole index text. */
  async function shown(project: string): Promise<{ notes: number[]; index: string }> {
    const index = shownIndex(await memory.freshRequest(project))
    const notes = [...index.matchAll(/^- \[Note (\d+)\]/gm)].map(([, number]) => Number(number))
    return { notes, index }
  }

  test('an index over the limit shows what was written last, and a save says where its entry stands', async () => {
    await projectWith('busy', 200)
    const session = await memory.session('busy')
    const { value } = await memory.save(session, {
      key: 'Deploy host corrected',
      description: 'deploy host is B, A is retired',
      content: 'Deploy to B.',
    })
    expect(value).toMatchObject({
      saved: true,
      shownInIndex: true,
      indexEntries: 201,
      indexLineLimit: 200,
      note: expect.stringContaining('no longer fits'),
    })
    const { notes, index } = await shown('busy')
    expect(index).toContain(
      '\n- [Deploy host corrected](deploy-host-corrected.md) — deploy host is B',
    )
    expect(notes).toHaveLength(199)
    expect(index).toMatch(/\n```\n.*WARNING.*200.*201/)
  })

  test('indexLineLimit and overflow choose the entries', async () => {
    await projectWith('five', 5, (at) => [10, 50, 20, 40, 30][at - 1] ?? 0)
    await configure({ indexLineLimit: 3 })
    expect((await shown('five')).notes).toEqual([2, 4, 5])
    expect((await shown('five')).index).toMatch(/WARNING.*3.*5/)
    await configure({ indexLineLimit: 3, overflow: 'head' })
    expect((await shown('five')).notes).toEqual([1, 2, 3])
    const { value } = await memory.save(await memory.session('five'), { key: 'Six', content: 'x' })
    expect(value).toMatchObject({
      saved: true,
      shownInIndex: false,
      indexEntries: 6,
      indexLineLimit: 3,
    })
    expect(value['note']).toContain('not among them')
    await configure({ indexLineLimit: 6 })
    expect((await shown('five')).index).not.toContain('WARNING')
  })

  test('indexCharacterLimit cuts the index at a line', async () => {
    await projectWith('long', 5, (at) => at)
    const line = '- [Note 1](note-1.md) — about 1\n'.length
    await configure({ indexCharacterLimit: line * 2 + 3 })
    const { notes, index } = await shown('long')
    expect(notes).toEqual([4, 5])
    expect(index).toMatch(/WARNING.*2.*5/)
  })

  test('maxMemoryChars bounds the content', async () => {
    await configure({ maxMemoryChars: 10 })
    const session = await memory.session('short')
    const turn = await memory.turn(
      session,
      saveStep({ key: 'a', content: 'x'.repeat(10) }),
      saveStep({ key: 'b', content: 'x'.repeat(11) }),
    )
    expect(turn.toolCalls.map(({ isError }) => isError)).toEqual([false, true])
    expect(turn.toolCalls[1]?.result).toMatch(/content has 11 characters.*10/)
  })

  test('projectRoot: given keeps the spelling of a linked project', async () => {
    const real = await memory.home.project('real')
    const link = join(memory.home.root, 'projects', 'link')
    await symlink(real, link)
    const directories: string[] = []
    for (const projectRoot of ['resolved', 'given']) {
      await configure({ projectRoot })
      const session = await memory.host.create({ cwd: link })
      await memory.turn(session)
      directories.push(guidedDirectory(memory.lastRequest(session)))
    }
    expect(directories[0]).toBe(memoryPaths(memory.home, real).root)
    expect(directories[1]).toMatch(/\/link-[0-9a-f]{16}\/memory$/)
  })

  test('forgetTool: false takes the tool away and tells the steps by hand', async () => {
    await configure({ forgetTool: false })
    const request = await memory.freshRequest('by hand')
    expect(request.toolNames).toContain('save_project_memory')
    expect(request.toolNames).not.toContain('forget_project_memory')
    expect(shownGuidance(request)).not.toContain('forget_project_memory')
    expect(shownGuidance(request)).toContain('delete its file')
  })

  test('a wrong value given to the running host is refused, and the next good one works', async () => {
    await expect(configure({ overflow: 'tail' })).rejects.toThrow(/overflow/)
    await configure({ indexLineLimit: 1 })
    await projectWith('after', 2, (at) => at)
    expect((await shown('after')).notes).toEqual([2])
  })
})
