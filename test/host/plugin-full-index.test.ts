/**
 * An index of 500 memories, and a memory that is forgotten, from end to end.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  callTool,
  type Home,
  hostSupport,
  type ModelStep,
  type RecordedRequest,
  removeHome,
  runHeadless,
  startScriptedModel,
} from '../support/host/index.mjs'
import { memoryHome, memoryPaths, saveStep, shownIndex } from '../support/memory-host.ts'

const MEMORIES = 500
const LIMIT = 200

/** Memory `at` was written in minute `at` of the day, but stands at a place that does not tell. */
async function fill(home: Home, project: string): Promise<void> {
  const { indexFilePath, root } = memoryPaths(home, project)
  await mkdir(root, { recursive: true })
  const lines: string[] = []
  for (let place = 0; place < MEMORIES; place += 1) {
    const at = (place * 7) % MEMORIES
    const file = join(root, `note-${at}.md`)
    await writeFile(file, `Note ${at}.\n`)
    const written = new Date(Date.UTC(2026, 0, 1, 0, at))
    await utimes(file, written, written)
    lines.push(`- [Note ${at}](note-${at}.md) — about ${at}\n`)
  }
  await writeFile(indexFilePath, lines.join(''))
}

async function world(): Promise<{
  home: Home
  run: (project: string, steps: ModelStep[]) => Promise<readonly RecordedRequest[]>
}> {
  const home = await memoryHome()
  const model = await startScriptedModel()
  onTestFinished(async () => {
    await model.close()
    await removeHome(home)
  })
  return {
    home,
    async run(cwd, steps) {
      model.add(steps)
      const { code, stderr, requests } = await runHeadless({ home, model, task: 'Go.', cwd })
      expect(code, stderr).toBe(0)
      return requests
    },
  }
}

const notesIn = (index: string): number[] =>
  [...index.matchAll(/^- \[Note (\d+)\]/gmu)].map(([, at]) => Number(at)).sort((a, b) => a - b)
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at)

describe.skipIf(!hostSupport().supported)('a full index', () => {
  test('of 500 memories the 200 written last are shown, and the 501st save says how many there are', async () => {
    const { home, run } = await world()
    const project = await home.project('archive')
    await fill(home, project)
    const [first, afterSave] = await run(project, [
      saveStep({ key: 'One more', content: 'The 501st.' }),
      'Saved.',
    ])
    const index = shownIndex(first)
    expect(notesIn(index)).toEqual(range(MEMORIES - LIMIT, MEMORIES))
    expect(index).toMatch(
      /> WARNING: MEMORY\.md is 500 lines \(limit: 200\)\. 200 of its 500 entries/u,
    )
    expect(JSON.parse(afterSave?.toolResults[0]?.text ?? '')).toMatchObject({
      saved: true,
      shownInIndex: true,
      indexEntries: MEMORIES + 1,
      indexLineLimit: LIMIT,
      note: expect.stringContaining('no longer fits'),
    })
    const [next] = await run(project, ['Hello.'])
    expect(shownIndex(next)).toContain('- [One more](one-more.md) — The 501st.')
    expect(notesIn(shownIndex(next))).toEqual(range(MEMORIES - LIMIT + 1, MEMORIES))
    expect(shownIndex(next)).toContain('200 of its 501 entries')
  })

  test('a memory forgotten by the tool leaves no file, no line and nothing in the next session', async () => {
    const { home, run } = await world()
    const project = await home.project('harbour')
    const { indexFilePath, root } = memoryPaths(home, project)
    await run(project, [
      saveStep({ key: 'Migration rule', content: 'Two days on the copy first.' }),
      saveStep({ key: 'Pier lights', content: 'They are green.' }),
      'Saved.',
    ])
    const [asked, afterForget] = await run(project, [
      callTool('forget_project_memory', { key: 'migration rule' }),
      'Forgotten.',
    ])
    expect(shownIndex(asked)).toContain('migration-rule.md')
    expect(JSON.parse(afterForget?.toolResults[0]?.text ?? '')).toMatchObject({
      forgotten: true,
      fileName: 'migration-rule.md',
      undoUntil: expect.stringMatching(/^\d{4}-\d\d-\d\dT/u),
      note: expect.stringContaining('purge: true'),
    })
    expect(existsSync(join(root, 'migration-rule.md'))).toBe(false)
    expect(await readFile(indexFilePath, 'utf8')).toBe(
      '- [Pier lights](pier-lights.md) — They are green.\n',
    )
    const [next] = await run(project, ['Hello.'])
    expect(next?.includes('igration')).toBe(false)
    expect(shownIndex(next)).toContain('pier-lights.md')
  })
})
