/**
 * Memory files changed by the model while a person looks on: the host's page in a real browser.
 *
 * Needs a Chromium on `PATH` or in `CHROMIUM_PATH`; without one the tests are left out and their
 * names say so.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FILE } from '../support/by-hand-host.ts'
import { findChromium } from '../support/browser.mjs'
import type { ModelStep } from '../support/host/index.mjs'
import {
  callTool,
  createHome,
  packPlugin,
  removeHome,
  startScriptedModel,
  writePatch,
} from '../support/host/index.mjs'
import { memoryPaths, ROW } from '../support/memory-host.ts'
import { clickButton, focusMessage, pageShows } from '../support/page-functions.mjs'
import type { WebSession } from '../support/web-session.mjs'
import { openWebSession } from '../support/web-session.mjs'

const chromium = findChromium()
const REASON = chromium === undefined ? ' (left out: no Chromium found)' : ''

async function page(config: Record<string, unknown>, steps: (root: string) => ModelStep[]) {
  const home = await createHome({ profile: 'web', plugins: [await packPlugin()] })
  onTestFinished(() => removeHome(home))
  await writePatch(home, [{ id: ROW, config }])
  const cwd = await home.project('shop')
  const { root } = memoryPaths(home, cwd)
  const model = await startScriptedModel(['Hello.', ...steps(root)])
  onTestFinished(() => model.close())
  const browser = { executable: chromium ?? '' }
  const session = await openWebSession({ browser, cwd, home, model, task: 'Say hello.' })
  onTestFinished(() => session.close())
  return { model, root, session }
}

async function say({ browser }: WebSession, text: string): Promise<void> {
  await browser.evaluate(focusMessage)
  await browser.type(text)
  await browser.press('Enter')
}

test.skipIf(chromium === undefined)(
  `a memory is written and edited without a question${REASON}`,
  async () => {
    const { model, root, session } = await page({}, (at) => [
      callTool('write', { file_path: join(at, 'd.md'), content: FILE }),
      callTool('edit', { file_path: join(at, 'd.md'), old_string: 'Body', new_string: 'Text' }),
      callTool('bash', { command: `rm ${join(at, 'd.md')}`, description: 'remove' }),
      callTool('write', { file_path: join(at, 'e.md'), content: FILE }),
      'All done here.',
    ])
    await say(session, 'Remember it.')
    await session.browser.waitFor(pageShows, 'All done here.')
    expect(await readFile(join(root, 'e.md'), 'utf8')).toContain('  originSessionId: "session-')
    expect(existsSync(join(root, 'd.md'))).toBe(false)
    expect(model.faults()).toEqual([])
    expect(await session.browser.evaluate(pageShows, 'Allow once')).toBe(false)
  },
)

test.skipIf(chromium === undefined)(
  `with memoryFileWrites: ask the person decides${REASON}`,
  async () => {
    const { model, root, session } = await page({ memoryFileWrites: 'ask' }, (at) => [
      callTool('write', { file_path: join(at, 'd.md'), content: FILE }),
      callTool('write', { file_path: join(at, 'e.md'), content: FILE }),
      'All done here.',
    ])
    await say(session, 'Remember it.')
    for (const [name, answer] of [
      ['d.md', 'Reject'],
      ['e.md', 'Allow once'],
    ] as const) {
      await session.browser.waitFor(pageShows, `project memory: write ${name}`)
      await session.browser.waitFor(clickButton, answer)
    }
    await session.browser.waitFor(pageShows, 'All done here.')
    expect(existsSync(join(root, 'd.md'))).toBe(false)
    expect(await readFile(join(root, 'e.md'), 'utf8')).toContain('  originSessionId: "session-')
    expect(
      model
        .requests()
        .at(-1)
        ?.toolResults.map(({ text }) => text),
    ).toEqual([
      'Error: approval was rejected (project memory: write d.md); do not try it again',
      expect.stringContaining('Created file'),
    ])
  },
)
