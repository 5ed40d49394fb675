/**
 * From one session to the next: what a process saved, a later process is told.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  hostSupport,
  type ModelStep,
  type RecordedRequest,
  removeHome,
  runHeadless,
  startScriptedModel,
} from '../support/host/index.mjs'
import {
  guidedDirectory,
  memoryHome,
  memoryPaths,
  SAVE,
  saveStep,
  shownGuidance,
  shownIndex,
} from '../support/memory-host.ts'

const KEY = 'Crate labels'
const OLD = 'Crate labels are PNG files 812 pixels wide.'
const NEW = 'Crate labels are PNG files 1218 pixels wide.'

describe.skipIf(!hostSupport().supported)('memory across processes', () => {
  test('a memory is told in the next process, replaced by its key, and stays in its project', async () => {
    const home = await memoryHome()
    const model = await startScriptedModel()
    onTestFinished(async () => {
      await model.close()
      await removeHome(home)
    })
    const project = await home.project('packing-hall')
    const { root, indexFilePath } = memoryPaths(home, project)
    const run = async (steps: ModelStep[], cwd = project): Promise<RecordedRequest[]> => {
      model.add(steps)
      const { code, stderr, requests } = await runHeadless({ home, model, task: 'Go.', cwd })
      expect(code, stderr).toBe(0)
      return [...requests]
    }

    const [first, afterSave] = await run([saveStep({ key: KEY, content: OLD }), 'Noted.'])
    expect(shownGuidance(first)).toContain(SAVE)
    expect(guidedDirectory(first)).toBe(root)
    expect(first?.tool(SAVE)?.parameters).toMatchObject({ required: ['key', 'content'] })
    expect(shownIndex(first)).toBe('')
    expect(first?.snapshots.join('')).not.toContain('MEMORY.md')
    expect(JSON.parse(afterSave?.toolResults[0]?.text ?? '')).toMatchObject({
      saved: true,
      fileName: 'crate-labels.md',
      filePath: join(root, 'crate-labels.md'),
      replaced: false,
      shownInIndex: true,
      indexEntries: 1,
    })
    expect(await readFile(join(root, 'crate-labels.md'), 'utf8')).toContain(`\n\n${OLD}\n`)

    const line = `- [${KEY}](crate-labels.md) — ${OLD}`
    const [second, afterReplace] = await run([saveStep({ key: KEY, content: NEW }), 'Updated.'])
    expect(shownIndex(second).split('\n')).toEqual([
      expect.stringContaining(`\`${indexFilePath}\``),
      '```',
      line,
      '```',
    ])
    expect(shownGuidance(second)).toBe(shownGuidance(first))
    expect(second?.raw).toContain(OLD)
    expect(JSON.parse(afterReplace?.toolResults[0]?.text ?? '')).toMatchObject({ replaced: true })

    const [third] = await run(['Nothing to do.'])
    expect(shownIndex(third)).toContain(NEW)
    expect(third?.raw).not.toContain(OLD)

    const elsewhere = await home.project('orchard')
    const [other] = await run(['I know nothing.'], elsewhere)
    expect(other?.raw).not.toContain('1218')
    expect(shownIndex(other)).toBe('')
    expect(guidedDirectory(other)).toBe(memoryPaths(home, elsewhere).root)
    expect(existsSync(memoryPaths(home, elsewhere).root)).toBe(false)
    expect(model.faults()).toEqual([])
  })

  test.each([
    ['a relative DSH_HOME', 'dsh', { DSH_HOME: './dsh' }],
    ['no DSH_HOME, in the folder of the user', '用户 user/.dsh', { DSH_HOME: ' ' }],
  ])('the memory lies where the host has its home: %s', async (_, place, env) => {
    const made = await memoryHome()
    const model = await startScriptedModel([saveStep({ key: KEY, content: OLD }), 'Noted.'])
    onTestFinished(async () => {
      await model.close()
      await removeHome(made)
    })
    const dshHome = join(made.root, place)
    await mkdir(dirname(dshHome), { recursive: true })
    await rename(made.dshHome, dshHome)
    const { code, stderr, requests } = await runHeadless({
      home: { ...made, dshHome },
      model,
      task: 'Go.',
      cwd: made.root,
      env: { ...env, HOME: join(made.root, '用户 user') },
    })
    expect(code, stderr).toBe(0)
    const { root } = memoryPaths({ ...made, dshHome }, made.root)
    expect(guidedDirectory(requests[0])).toBe(root)
    expect(existsSync(join(root, 'crate-labels.md'))).toBe(true)
  })
})
