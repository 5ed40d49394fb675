/**
 * Makes `docs/images/memory-command.png` again: `/memory list` in the host's page.
 *
 * Needs a Chromium, and fonts with Chinese characters for the Chinese memory. The folder of the
 * project is short and the same everywhere, because the picture shows it.
 */
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../test/support/browser.mjs'
import {
  createHome,
  packPlugin,
  removeHome,
  startScriptedModel,
} from '../test/support/host/index.mjs'
import { openWebSession } from '../test/support/web-session.mjs'

const OUTPUT = fileURLToPath(new URL('../docs/images/memory-command.png', import.meta.url))
const PROJECT = join(tmpdir(), 'webshop')
const TASK = 'When do we release?'
const ANSWER = 'On Tuesdays, after the load test has passed.'
const DAY_MS = 86_400_000
const MEMORIES = [
  {
    key: 'Checkout rounding',
    type: 'project',
    content: 'Prices are rounded per line, not per order: the tax office asked for it in 2030.',
    age: 20,
  },
  {
    key: '部署规则',
    type: 'feedback',
    content: '周五下午之后不部署到生产环境，除非值班同事同意。',
    age: 3,
  },
  {
    key: 'Release day',
    type: 'project',
    content: 'Releases go out on Tuesdays, after the load test has passed.',
    age: 1,
  },
]

const executable = findChromium()
if (executable === undefined) throw new Error('No Chromium: install one or set CHROMIUM_PATH.')
const model = await startScriptedModel([ANSWER], { title: 'Release schedule' })
const home = await createHome({ profile: 'web', plugins: [await packPlugin()] })
await mkdir(PROJECT)
try {
  await saveMemories()
  const session = await openWebSession({
    browser: { executable, width: 1180, height: 760 },
    cwd: PROJECT,
    home,
    model,
    task: TASK,
  })
  try {
    await session.command('/memory list')
    await mkdir(dirname(OUTPUT), { recursive: true })
    await writeFile(OUTPUT, await session.browser.screenshot())
  } finally {
    await session.close()
  }
} finally {
  await rm(PROJECT, { recursive: true })
  await removeHome(home)
  await model.close()
}
process.stdout.write(`${OUTPUT}\n`)

async function saveMemories() {
  const { ProjectMemoryStore, resolveProjectMemoryPaths } = await import('../lib/store/index.js')
  const paths = resolveProjectMemoryPaths(PROJECT, { DSH_HOME: home.dshHome })
  const store = new ProjectMemoryStore(paths)
  for (const { age, ...memory } of MEMORIES) {
    const { filePath } = await store.save(memory)
    const time = new Date(Date.now() - age * DAY_MS - 60_000)
    await utimes(filePath, time, time)
  }
}
