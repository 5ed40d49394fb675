/**
 * `/memory` as a person uses it: typed into the host's page in a real browser.
 *
 * Needs a Chromium on `PATH` or in `CHROMIUM_PATH`; without one the test is left out and its name
 * says so.
 */
import { expect, onTestFinished, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import { findChromium } from '../support/browser.mjs'
import { createHome, packPlugin, removeHome, startScriptedModel } from '../support/host/index.mjs'
import { openWebSession } from '../support/web-session.mjs'

const chromium = findChromium()
const REASON = chromium === undefined ? ' (left out: no Chromium found)' : ''

test.skipIf(chromium === undefined)(
  `typing /memory list into the page shows the memories, and the model is not asked${REASON}`,
  async () => {
    const model = await startScriptedModel(['Hello.'])
    onTestFinished(() => model.close())
    const home = await createHome({ profile: 'web', plugins: [await packPlugin()] })
    onTestFinished(() => removeHome(home))
    const cwd = await home.project('shop')
    const store = new ProjectMemoryStore(resolveProjectMemoryPaths(cwd, { DSH_HOME: home.dshHome }))
    await store.save({ key: 'Release day', content: 'Releases go out on Tuesdays.' })
    await store.save({ key: '部署规则', content: '周五下午之后不部署。' })

    const session = await openWebSession({
      browser: { executable: chromium ?? '' },
      cwd,
      home,
      model,
      task: 'Say hello.',
    })
    onTestFinished(() => session.close())

    const listed = await session.command('/memory list')
    expect(listed).toContain(`2 memories of ${cwd}`)
    expect(listed).toContain('Releases go out on Tuesdays.')
    expect(listed).toContain('周五下午之后不部署。')

    const unknown = await session.command('/memory show Release days')
    expect(unknown).toContain('There is no memory "Release days".')
    expect(unknown).toContain('release-day.md')
    expect(model.requests()).toHaveLength(1)
    expect(model.faults()).toEqual([])
  },
)
