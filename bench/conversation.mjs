/**
 * What the plugin adds to a conversation, in bytes of the requests that the real host sends.
 *
 * Role: `benchConversation()` gives its rows; run alone it prints them. A session's cost is the
 * difference between the first requests with and without the plugin, a save's is the call and its
 * result as the next request carries them. Exact: nothing here is a time.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { resolveProjectMemoryPaths } from '../lib/store/index.js'
import {
  callTool,
  createHome,
  drive,
  hostSupport,
  packPlugin,
  removeHome,
  startScriptedModel,
} from '../test/support/host/index.mjs'
import { indexOf, saveInput } from './durable.mjs'
import { isMainModule, printRows } from './report.mjs'

const SAVE = 'save_project_memory'
const INDEX_LINES = [0, 20, 200]

/** @returns {Promise<import('./report.mjs').BenchRow[]>} none where the host cannot run. */
export async function benchConversation() {
  if (!hostSupport().supported) return []
  const without = await withHome([], ({ host, home, model }) => firstRequest(host, home, model, 0))
  return withHome([await packPlugin()], async ({ host, home, model }) => {
    const rows = []
    for (const lines of INDEX_LINES) {
      rows.push(sessionRow(lines, await firstRequest(host, home, model, lines), without))
    }
    rows.push(await saveRow(host, home, model))
    return rows
  })
}

async function withHome(plugins, task) {
  const home = await createHome({ plugins })
  const model = await startScriptedModel()
  try {
    return await drive({ home, model }, (host) => task({ host, home, model }))
  } finally {
    await model.close()
    await removeHome(home)
  }
}

/** The first request of a session whose project has an index of so many lines. */
async function firstRequest(host, home, model, lines) {
  const cwd = await home.project(`bench-${String(lines).padStart(3, '0')}`)
  if (lines > 0) {
    const paths = resolveProjectMemoryPaths(cwd, { DSH_HOME: home.dshHome })
    await mkdir(paths.root, { recursive: true })
    await writeFile(paths.indexFilePath, indexOf(lines))
  }
  model.add(['Done.'])
  const session = await host.create({ cwd })
  await host.say(session, 'Go.')
  return model.of(session)[0]
}

function sessionRow(lines, request, without) {
  const added = bytes(request.raw) - bytes(without.raw)
  const names = new Set(without.toolNames)
  const tools = request.body.tools.filter((tool) => !names.has(tool.function.name))
  const parts = [
    `system prompt ${bytes(request.system) - bytes(without.system)}`,
    `tools ${bytes(JSON.stringify(tools))}`,
    `snapshot ${bytes(request.snapshots.join('')) - bytes(without.snapshots.join(''))}`,
  ]
  return {
    name: `added to a session's first request, index of ${lines} lines`,
    value: added,
    unit: 'bytes',
    detail: parts.join(', '),
    passed: true,
  }
}

async function saveRow(host, home, model) {
  model.add([callTool(SAVE, saveInput(1)), 'Done.'])
  const session = await host.create({ cwd: await home.project('bench-save') })
  await host.say(session, 'Go.')
  const { messages } = model.of(session).at(-1).body
  const call = messages.find((message) => message.tool_calls !== undefined)
  const result = messages.find((message) => message.role === 'tool')
  const [callBytes, resultBytes] = [call, result].map((message) => bytes(JSON.stringify(message)))
  return {
    name: 'added to the conversation by the result of a save',
    value: resultBytes,
    unit: 'bytes',
    detail: `the model's own call has ${callBytes}, of which its content is ${saveInput(1).content.length}`,
    passed: true,
  }
}

function bytes(text) {
  return Buffer.byteLength(text)
}

if (isMainModule(import.meta.url)) printRows(await benchConversation())
