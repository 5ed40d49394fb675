/**
 * The built entry on a small context: what it registers, what it refuses, what it takes back.
 * What the model sees of it is shown on the real host.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { FakeHost, plugin } from '../support/fake-host.ts'
import type { TestAgent } from '../support/session-agent.ts'
import { logCompaction, testAgent } from '../support/session-agent.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

const ENTRY = new URL('../../lib/index.js', import.meta.url)

let home: string
let project: string

beforeEach(async () => {
  const folder = await temporaryDirectory()
  home = join(folder, 'dsh')
  project = join(folder, 'project')
  await mkdir(project)
  vi.stubEnv('DSH_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
})

function mount(
  config?: Parameters<typeof plugin.apply>[1],
  services?: Record<string, unknown>,
): FakeHost {
  const host = new FakeHost(services)
  plugin.apply(host.context, config)
  return host
}

const pathsOf = (path: string): ReturnType<typeof resolveProjectMemoryPaths> =>
  resolveProjectMemoryPaths(path, { DSH_HOME: home })

const textOf = (text: FakeHost['sections'][number] | undefined, agent?: TestAgent): string =>
  text?.text({ agent, scope: agent }) ?? 'none'

const call = (
  host: FakeHost,
  agent: TestAgent,
  key: string,
  signal = new AbortController().signal,
) => host.tools[0]?.execute({ key, content: 'x' }, { agent, signal } as never) as Promise<unknown>

describe('the entry', () => {
  test('has named exports only, and waits for the two services that it cannot do without', () => {
    expect(Object.keys(plugin).toSorted()).toEqual(['Config', 'apply', 'inject', 'name'])
    expect(plugin.name).toBe('project-memory')
    expect(plugin.inject).toEqual(['tools', 'systemPrompt'])
  })

  test('is imported without a trace: no folder, no listener on the process, nothing left to run', () => {
    const script = `
      const before = process.eventNames().map((name) => [name, process.listenerCount(name)])
      const { apply } = await import(${JSON.stringify(ENTRY.href)})
      const after = process.eventNames().map((name) => [name, process.listenerCount(name)])
      console.log(JSON.stringify({ before, after, apply: typeof apply }))`
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { env: { ...process.env, DSH_HOME: home }, encoding: 'utf8', timeout: 60_000 },
    )
    expect(stderr).toBe('')
    const { before, after, apply } = JSON.parse(stdout)
    expect({ status, apply, after }).toEqual({ status: 0, apply: 'function', after: before })
    expect(existsSync(home)).toBe(false)
  })
})

describe('mounting', () => {
  test('registers two tools, a section, a context, a variable and a command, each once', () => {
    const host = mount()
    expect(host.tools.map(({ name }) => name)).toEqual([
      'save_project_memory',
      'forget_project_memory',
    ])
    expect(host.sections.map(({ name, order }) => [name, order])).toEqual([['project-memory', 950]])
    expect(host.contexts.map(({ name, order }) => [name, order])).toEqual([
      ['project-memory-index', 100],
    ])
    expect([...host.variables].map(([name, provider]) => [name, provider()])).toEqual([
      ['project_memory_braces', '{{'],
    ])
    expect(host.commands.map(({ name }) => name)).toEqual(['memory'])
    const events = host.listeners.map(({ event }) => event)
    expect(events).toContain('agent/session-start')
    expect(events).toContain('session/event')
  })

  test('needs no optional service of the host', () => {
    expect(mount({}, {}).tools).toHaveLength(2)
    expect(mount({ forgetTool: false }).tools).toHaveLength(1)
  })

  test('gives tools whose schemas are strict, lossless JSON without braces, and exclusive', () => {
    for (const tool of mount().tools) {
      const { description, output, parameters } = tool
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false })
      const text = JSON.stringify({ description, parameters, output: output.schema })
      expect(text).not.toContain('{{')
      expect(JSON.parse(text)).toEqual({ description, parameters, output: output.schema })
      expect(Object.keys(tool)).not.toContain('isConcurrencySafe')
      expect(Object.keys(tool)).not.toContain('timeoutMs')
    }
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'an unknown key',
      { indexLimit: 3 },
      /unknown configuration key "indexLimit"; known keys: indexLineLimit/,
    ],
    ['a number of 0', { indexLineLimit: 0 }, /indexLineLimit/],
    ['a number as text', { maxMemoryChars: '9' }, /maxMemoryChars/],
    ['an unknown choice', { subagents: 'some' }, /subagents/],
  ])('refuses %s by name and registers nothing', (_, config, message) => {
    const host = new FakeHost()
    expect(() => plugin.apply(host.context, config as never)).toThrow(message)
    expect(host.size).toBe(0)
  })

  test('touches no disk, neither at once nor in a session without a working directory', () => {
    const host = mount()
    const agent = testAgent()
    host.emit('agent/session-start', { agent })
    expect(textOf(host.sections[0], agent)).toBe('')
    expect(textOf(host.contexts[0], agent)).toBe('')
    expect(existsSync(home)).toBe(false)
  })
})

describe('the prompt texts', () => {
  test('are empty where no session asks, as in a diagnosis', () => {
    const host = mount()
    expect(host.sections[0]?.text({})).toBe('')
    expect(host.contexts[0]?.text({})).toBe('')
    expect(host.warnings).toEqual([])
  })

  test('are read at the start of the session, before the first prompt', async () => {
    const host = mount()
    const agent = testAgent({ cwd: project })
    await call(host, testAgent({ cwd: project }), 'First')
    host.emit('agent/session-start', { agent })
    await call(host, testAgent({ cwd: project }), 'Second')
    expect(textOf(host.contexts[0], agent)).toContain('- [First](first.md)')
    expect(textOf(host.contexts[0], agent)).not.toContain('Second')
    expect(textOf(host.sections[0], agent)).toContain(pathsOf(project).root)
  })

  test('are read again when a replacement took the snapshot away, and not for other events', async () => {
    const host = mount()
    const agent = testAgent({ cwd: project })
    expect(textOf(host.contexts[0], agent)).toBe('')
    await call(host, testAgent({ cwd: project }), 'First')
    for (const event of [{ type: 'turn/end' }, { surfaceOp: 'append' }, { surfaceOp: null }]) {
      host.emit('session/event', agent.session, event)
      expect(textOf(host.contexts[0], agent)).toBe('')
    }
    logCompaction(agent)
    host.emit('session/event', agent.session, { surfaceOp: { op: 'replace', start: 0, end: 0 } })
    expect(textOf(host.contexts[0], agent)).toContain('- [First](first.md)')
  })

  test('cost the memory and not the turn when something unforeseen breaks, and it is told once', () => {
    const host = mount()
    const broken = testAgent()
    Object.defineProperty(broken.session, 'header', {
      get: () => {
        throw new Error('no header today')
      },
    })
    expect(() => host.emit('agent/session-start', { agent: broken })).not.toThrow()
    expect(textOf(host.sections[0], broken)).toBe('')
    expect(textOf(host.contexts[0], broken)).toBe('')
    expect(host.warnings).toHaveLength(1)
    expect(String(host.warnings[0]?.[1])).toContain('no header today')
  })

  test('an index that cannot be read warns once for each session that reads it', async () => {
    const host = mount()
    const { indexFilePath } = pathsOf(project)
    await mkdir(indexFilePath, { recursive: true })
    for (const agent of [testAgent({ cwd: project }), testAgent({ cwd: project })]) {
      host.emit('agent/session-start', { agent })
      for (const _ of [1, 2, 3]) {
        expect(textOf(host.contexts[0], agent)).toContain('cannot be read')
      }
    }
    expect(host.warnings).toHaveLength(2)
    expect(String(host.warnings[0]?.[0])).toContain(indexFilePath)
  })
})

describe('the sandbox mode', () => {
  const policy = (mode: string): Record<string, unknown> => ({
    sandboxPolicy: { resolve: () => ({ mode }) },
  })

  test('read-only refuses a save; without a policy service nothing is confined', async () => {
    const agent = testAgent({ cwd: project })
    const refused = call(mount({}, policy('read-only')), agent, 'First')
    await expect(refused).rejects.toThrow(/sandbox mode is read-only/)
    expect(existsSync(home)).toBe(false)
    expect(await call(mount(), agent, 'First')).toMatchObject({ saved: true })
    expect(await call(mount({}, policy('workspace-write')), agent, 'Second')).toMatchObject({
      indexEntries: 2,
    })
  })
})

describe('unloading', () => {
  test('takes everything back, and can be done before anything was used', async () => {
    const host = mount()
    await host.dispose()
    expect(host.size).toBe(0)
    expect(existsSync(home)).toBe(false)
    plugin.apply(host.context, {})
    expect(host.tools).toHaveLength(2)
  })

  test('waits for a save in flight', async () => {
    const host = mount()
    const { indexFilePath, root } = pathsOf(project)
    await mkdir(`${root}.lock`, { recursive: true })
    const saving = call(host, testAgent({ cwd: project }), 'In flight')
    await vi.waitUntil(() => existsSync(root), { interval: 5, timeout: 30_000 })
    let isGone = false
    const unloading = host.dispose().then(() => (isGone = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isGone).toBe(false)
    await rmdir(`${root}.lock`)
    await unloading
    expect(await readFile(indexFilePath, 'utf8')).toBe('- [In flight](in-flight.md) — x\n')
    expect(await saving).toMatchObject({ saved: true })
    expect(existsSync(join(dirname(root), 'memory.lock'))).toBe(false)
  })

  test('refuses a call that comes after it', async () => {
    const host = mount()
    const [save] = host.tools
    await host.dispose()
    const agent = testAgent({ cwd: project })
    const { signal } = new AbortController()
    const late = save?.execute({ key: 'Late', content: 'x' }, { agent, signal } as never)
    await expect(late).rejects.toMatchObject({ code: 'CLOSED' })
    expect(existsSync(home)).toBe(false)
  })

  test('refuses a call that was made before and had not begun', async () => {
    const host = mount()
    const late = call(host, testAgent({ cwd: project }), 'Late')
    const unloading = host.dispose()
    await expect(late).rejects.toMatchObject({ code: 'CLOSED' })
    await unloading
    expect(existsSync(home)).toBe(false)
  })
})
