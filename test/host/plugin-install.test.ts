/**
 * Getting the plugin into a profile: each way that works, and how the others fail.
 *
 * The clone is made of the last commit, so what is not committed is not tested here.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  addPlugin,
  createHome,
  type HeadlessResult,
  type Home,
  hostSupport,
  packPlugin,
  removeHome,
  runHeadless,
  startScriptedModel,
} from '../support/host/index.mjs'
import { SAVE, saveStep } from '../support/memory-host.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const isClonable = existsSync(join(repository, '.git'))

/** What an outer `npm run` adds for its own children would reach the inner one as settings. */
const OUTER_NPM = /^npm_(?!config_(?:registry|proxy|https_proxy|noproxy|cafile|cache)$)/i

/** Runs a program; a failure rejects with its output. */
async function run(command: string, args: string[], cwd: string): Promise<void> {
  const kept = Object.entries(process.env).filter(([name]) => !OUTER_NPM.test(name))
  await promisify(execFile)(command, args, { cwd, env: Object.fromEntries(kept) })
}

async function emptyHome(): Promise<Home> {
  const home = await createHome()
  onTestFinished(() => removeHome(home))
  return home
}

/** One task that saves a memory. */
async function task(home: Home): Promise<HeadlessResult> {
  const model = await startScriptedModel([saveStep({ key: 'Installed', content: 'x' }), 'Saved.'])
  onTestFinished(() => model.close())
  return runHeadless({ home, model, task: 'Go.' })
}

async function expectWorking(home: Home): Promise<void> {
  const { code, stderr, requests } = await task(home)
  expect(code, stderr).toBe(0)
  expect(requests[0]?.toolNames.filter((name) => name === SAVE)).toEqual([SAVE])
  expect(JSON.parse(requests[1]?.toolResults[0]?.text ?? '{}')).toMatchObject({ saved: true })
}

describe.skipIf(!hostSupport().supported)('dsh plugin add', () => {
  test('a tarball works', async () => {
    const home = await emptyHome()
    await addPlugin(home, await packPlugin())
    await expectWorking(home)
  })
})

describe.skipIf(!hostSupport().supported || !isClonable)('dsh plugin add of a clone', () => {
  let workshop: Home
  let clone: string

  beforeAll(async () => {
    workshop = await createHome()
    clone = join(await realpath(workshop.root), 'clone')
    await run('git', ['clone', '--quiet', repository, clone], workshop.root)
  })

  afterAll(() => removeHome(workshop))

  test('that was not built is added, but the host says at its start what is missing', async () => {
    const home = await emptyHome()
    expect(await addPlugin(home, clone)).toContain(`dsh-zcode-project-memory link:${clone}`)
    const { code, stderr, requests } = await task(home)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /failed to import loader entry project-memory \(dsh-zcode-project-memory\): Cannot find module '.*\/dsh-zcode-project-memory\/lib\/index\.js'/,
    )
    expect(requests).toEqual([])
  })

  test('by a git address is refused by pnpm, which may not run the build', async () => {
    const home = await emptyHome()
    const adding = addPlugin(home, `git+file://${clone}`)
    await expect(adding).rejects.toThrow('ERR_PNPM_GIT_DEP_PREPARE_NOT_ALLOWED')
    await expect(adding).rejects.toThrow('onlyBuiltDependencies')
  })

  test('works once npm ci has built it, as a linked directory and as a copy', async () => {
    await run('npm', ['ci', '--no-audit', '--no-fund'], clone)
    expect(existsSync(join(clone, 'lib', 'index.js'))).toBe(true)
    for (const spec of [clone, `file:${clone}`]) {
      const home = await emptyHome()
      await addPlugin(home, spec)
      await expectWorking(home)
    }
  })
})
