/**
 * What a session knows of `MEMORY.md`, and forgetting by hand.
 */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { INDEX, handProject, handSession } from '../support/by-hand-host.ts'
import { callTool, hostSupport } from '../support/host/index.mjs'
import { MemoryHost, memoryPaths, ROW, saveStep, shownIndex } from '../support/memory-host.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'

const UNREAD = /edit requires reading .* first — read the file, then retry/
const STALE = /file changed since it was read — re-read the file, then retry/

describe.skipIf(!hostSupport().supported)('the index as the session knows it', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  test('edits follow each other, also after our own tools have changed it', async () => {
    const project = await handProject(memory, 'follow')
    const { calls, edit, read } = project
    const results = await calls(
      edit('MEMORY.md', 'first', 'one'),
      edit('MEMORY.md', 'one', 'two'),
      saveStep({ key: 'Staging', content: 'Deploy on Mondays.' }),
      edit('MEMORY.md', 'two', 'three'),
      callTool('forget_project_memory', { fileName: 'c.md' }),
      edit('MEMORY.md', 'three', 'four'),
      saveStep({ key: 'Staging', content: 'Deploy on Tuesdays.' }),
      edit('MEMORY.md', 'Tuesdays', 'Fridays'),
    )
    expect(results.map(({ isError, result }) => (isError ? result : 'ok'))).toEqual(
      results.map(() => 'ok'),
    )
    expect(await read('MEMORY.md')).toBe(
      '- [A](a.md) — four\n- [Staging](staging.md) — Deploy on Fridays.\n',
    )
  })

  test('a session of its own does not learn what another one saved', async () => {
    const project = await handProject(memory, 'others')
    const other = await handSession(memory, 'others')
    await memory.turn(project.session)
    await other.calls(saveStep({ key: 'Staging', content: 'Deploy on Mondays.' }))
    const [stale, saved, still] = await project.calls(
      project.edit('MEMORY.md', 'first', 'one'),
      saveStep({ key: 'Other', content: 'x' }),
      project.edit('MEMORY.md', 'first', 'one'),
    )
    expect(stale?.result).toMatch(STALE)
    expect(saved?.isError).toBe(false)
    expect(still?.result).toMatch(STALE)
    const [, edited] = await project.calls(
      callTool('read', { file_path: project.at('MEMORY.md') }),
      project.edit('MEMORY.md', 'first', 'one'),
    )
    expect(edited?.isError).toBe(false)
  })

  test('an index that was changed after it was shown has to be read again', async () => {
    const project = await handProject(memory, 'changed')
    await memory.turn(project.session)
    await writeFile(project.at('MEMORY.md'), `${INDEX}- [B](b.md)\n`)
    const [result] = await project.calls(project.edit('MEMORY.md', 'first', 'second'))
    expect(result?.result).toMatch(STALE)
  })

  test.each([
    ['a comment', `<!-- for people -->\n${INDEX}`],
    ['frontmatter', `---\nname: x\n---\n${INDEX}`],
  ])('an index of which %s is not shown has to be read first', async (what, text) => {
    const project = await handProject(memory, `hidden-${what.slice(-5)}`)
    await writeFile(project.at('MEMORY.md'), text)
    const { calls, edit } = await handSession(memory, `hidden-${what.slice(-5)}`)
    const [result] = await calls(edit('MEMORY.md', 'first', 'second'))
    expect(result?.result).toMatch(UNREAD)
  })

  test('one that does not fit has to be read first', async () => {
    const project = await handProject(memory, 'large')
    await memory.host.setRow(ROW, { config: { indexLineLimit: 1 } })
    try {
      const [result] = await project.calls(project.edit('MEMORY.md', 'first', 'second'))
      expect(result?.result).toMatch(UNREAD)
    } finally {
      await memory.host.setRow(ROW, { config: {} })
    }
  })

  test('a resumed session and a fork know what they are shown', async () => {
    const project = await handProject(memory, 'resumed')
    await memory.turn(project.session)
    await memory.host.end(project.session)
    await memory.host.resume(project.session)
    expect(await project.calls(project.edit('MEMORY.md', 'first', 'one'))).toMatchObject([
      { isError: false },
    ])
    const fork = await memory.host.fork(project.session)
    const { toolCalls } = await memory.turn(fork, project.edit('MEMORY.md', 'one', 'two'))
    expect(toolCalls).toMatchObject([{ isError: false }])
  })

  test('what was forgotten by hand is gone from the next session, and can be had back', async () => {
    const project = await handProject(memory, 'forgotten')
    const { at, calls, edit, names, rm } = project
    const results = await calls(edit('MEMORY.md', '- [A](a.md) — first\n', ''), rm(at('a.md')))
    expect(results).toMatchObject([{ isError: false }, { isError: false, result: '(no output)' }])
    expect(await names()).toEqual(['MEMORY.md', 'c.md'])

    const next = await memory.freshRequest('forgotten')
    expect(shownIndex(next)).toContain('- [C](c.md) — third')
    expect(next.raw).not.toContain('a.md')
    expect(next.raw).not.toContain('— first')
    const store = new ProjectMemoryStore(memoryPaths(memory.home, project.cwd))
    expect(await store.examine()).toEqual([])
    await store.undo()
    expect(await project.read('a.md')).toBe('A\n')
    expect(await store.examine()).toEqual([])
  })
})
