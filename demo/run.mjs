/**
 * `npm run demo`: project memory from one session to the next, on the real host.
 *
 * Works on a fresh clone. Each session is a process of its own, so nothing can be known from one to
 * the next but through the memory. The model is scripted unless `DEEPSEEK_API_KEY` is set; then the
 * real service answers, and what it is asked is recorded on the way.
 */
import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { ensureInstalled } from '../scripts/ensure-installed.mjs'
import { HOST_PINS, installHost } from '../scripts/install-host.mjs'
import {
  addPlugin,
  createHome,
  packPlugin,
  removeHome,
  runHeadless,
  startForwardingModel,
  startScriptedModel,
} from '../test/support/host/index.mjs'
import * as story from './story.mjs'

/** @typedef {import('../test/support/host/index.mjs').RecordedRequest} RecordedRequest */
/** @typedef {import('../test/support/host/index.mjs').HeadlessResult} HeadlessResult */
/** @typedef {Awaited<ReturnType<typeof prepare>>} World */

const USAGE = `npm run demo [-- --scripted] [--keep]
  --scripted  use the scripted model also when DEEPSEEK_API_KEY is set
  --keep      leave the host's home and the projects for you to look at`
const DEFAULT_SERVICE = 'https://api.deepseek.com'
/** A real model thinks; a scripted one does not. */
const SESSION_TIMEOUT_MS = 5 * 60_000
const WIDTH = 150

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', () => process.exit(0))

const flags = process.argv.slice(2)
const unknown = flags.find((flag) => flag !== '--scripted' && flag !== '--keep')
if (unknown !== undefined) {
  const isHelp = flags.includes('--help')
  process.stdout.write(isHelp ? `${USAGE}\n` : `There is no option ${unknown}.\n${USAGE}\n`)
  process.exit(isHelp ? 0 : 2)
}
/** @type {string[]} */
const broken = []
try {
  await tell()
} catch (error) {
  broken.push(error instanceof Error ? error.message : String(error))
  say(`  ✗ ${broken.at(-1)}`)
}
say(broken.length === 0 ? '\nAll as it should be.' : `\nNot as it should be: ${broken.join('; ')}`)
process.exitCode = broken.length === 0 ? 0 : 1

async function tell() {
  const world = await prepare()
  try {
    await sessionThatSaves(world)
    await sessionThatRemembers(world, 'Session 2, a new process', story.OLD_MARK)
    await sessionThatReplaces(world)
    await sessionThatRemembers(world, 'Session 4', story.NEW_MARK, story.OLD_MARK)
    await sessionInAnotherProject(world)
    if (
      world.model.requests().some(({ toolNames }) => toolNames.includes('forget_project_memory'))
    ) {
      await sessionThatForgets(world)
    }
  } finally {
    await world.model.close()
    if (flags.includes('--keep')) say(`\nKept: ${world.home.root}`)
    else await removeHome(world.home)
  }
}

/** Installs and packs what is needed, and starts the model. */
async function prepare() {
  const key = flags.includes('--scripted') ? undefined : process.env['DEEPSEEK_API_KEY']
  const service = process.env['DEEPSEEK_BASE_URL'] ?? DEFAULT_SERVICE
  say(
    `DeepSeek Harness ${HOST_PINS.dsh}, with ${key ? `the model at ${service}` : 'a scripted model (set DEEPSEEK_API_KEY for a real one)'}.`,
  )
  ensureInstalled(say)
  await installHost({ report: say })
  say('Building and packing the plugin …')
  const tarball = await packPlugin()
  const home = await createHome()
  await addPlugin(home, tarball)
  say(`Plugin added: dsh plugin --profile ${home.profile} add ${basename(tarball)}`)
  const model = key
    ? await startForwardingModel(service)
    : await startScriptedModel(story.SCRIPTS, { route: ({ lastPrompt }) => lastPrompt })
  return { home, model, env: key ? { DEEPSEEK_API_KEY: key } : undefined }
}

/** @param {World} world */
async function sessionThatSaves(world) {
  await session(world, 'Session 1, project "packing-hall"', story.REMEMBER)
  const entries = await memoriesOnDisk(world)
  for (const { path, text } of entries) say(`  file   ${path}: ${lastLine(text)}`)
  expectThat(
    entries.length === 1 && entries[0]?.text.includes(story.OLD_MARK),
    'one memory file holds the fact',
  )
}

/**
 * @param {World} world
 * @param {string} title
 * @param {string} mark must be among what the model saw.
 * @param {string} [gone] must not.
 */
async function sessionThatRemembers(world, title, mark, gone) {
  const { requests, stdout } = await session(world, title, story.ASK)
  const seen = indexLines(requests)
  expectThat(seen.includes(mark), `the model saw the memory (${mark}) before it answered`)
  expectThat(stdout.includes(mark), 'the answer comes from it')
  if (gone !== undefined)
    expectThat(!seen.includes(gone), `nothing of the old memory (${gone}) is left`)
}

/** @param {World} world */
async function sessionThatReplaces(world) {
  await session(world, 'Session 3 replaces it', story.REPLACE)
  const entries = await memoriesOnDisk(world)
  expectThat(
    entries.length === 1 && entries[0]?.text.includes(story.NEW_MARK),
    'still one memory file, with the new fact',
  )
}

/** @param {World} world */
async function sessionInAnotherProject(world) {
  const { requests } = await session(
    world,
    'Another project, "orchard"',
    story.ASK_ELSEWHERE,
    'orchard',
  )
  const [request] = requests
  expectThat(
    request?.snapshots.length !== 0 && indexLines(requests) === '',
    'the model saw no memory here',
  )
}

/** @param {World} world */
async function sessionThatForgets(world) {
  await session(world, 'Session 5 forgets it', story.FORGET)
  const { requests } = await session(world, 'Session 6', story.ASK)
  expectThat(!indexLines(requests).includes(story.NEW_MARK), 'the model no longer sees it')
}

/**
 * One process of the host, told in a few lines.
 * @param {World} world
 * @param {string} title
 * @param {string} task
 * @param {string} [project]
 * @returns {Promise<HeadlessResult>}
 */
async function session({ home, model, env }, title, task, project = 'packing-hall') {
  say(`\n${title}`)
  say(`  person ${task}`)
  const cwd = await home.project(project)
  const result = await runHeadless({
    home,
    model,
    cwd,
    task,
    timeoutMs: SESSION_TIMEOUT_MS,
    ...(env ? { env } : {}),
  })
  const tellOf = (/** @type {string} */ label, /** @type {string} */ text) =>
    say(`  ${label.padEnd(6)} ${text.replaceAll(home.dshHome, '$DSH_HOME')}`)
  for (const line of story.indexLines(result.requests[0])) tellOf('saw', line)
  for (const { name, args, result: told } of toolCalls(result.requests)) {
    tellOf('calls', `${name} ${args}`)
    tellOf('told', told)
  }
  tellOf('model', result.stdout.trim())
  if (result.code !== 0)
    throw new Error(`the host ended with code ${result.code}: ${result.stderr.trim()}`)
  return result
}

/** @param {readonly RecordedRequest[]} requests @returns the calls that the last request looks back on. */
function toolCalls(requests) {
  const last = requests.at(-1)
  const calls = last?.body.messages.flatMap((message) => message.tool_calls ?? []) ?? []
  return calls.map(({ id, function: { name, arguments: args } }) => {
    const result = last?.toolResults.find((candidate) => candidate.id === id)?.text ?? ''
    return { name, args, result }
  })
}

/** @param {readonly RecordedRequest[]} requests @returns {string} '' when there was no index. */
function indexLines(requests) {
  return story.indexLines(requests[0]).join('\n')
}

/** @param {World} world @returns {Promise<{ path: string, text: string }[]>} all memory files but the index. */
async function memoriesOnDisk({ home }) {
  const root = join(home.dshHome, 'memories')
  // Nothing is made before the first save.
  const names = existsSync(root) ? await readdir(root, { recursive: true }) : []
  const files = names.filter((name) => name.endsWith('.md') && basename(name) !== 'MEMORY.md')
  return Promise.all(
    files.map(async (name) => {
      const path = join(root, name)
      return { path: relative(home.dshHome, path), text: await readFile(path, 'utf8') }
    }),
  )
}

/** @param {string} text */
function lastLine(text) {
  return text.trim().split('\n').at(-1) ?? ''
}

/** @param {boolean | undefined} holds @param {string} claim */
function expectThat(holds, claim) {
  say(`  ${holds ? '✓' : '✗'} ${claim}`)
  if (!holds) broken.push(claim)
}

/** @param {string} line */
function say(line) {
  process.stdout.write(`${line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line}\n`)
}
