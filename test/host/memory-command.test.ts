/**
 * `/memory` through the host's own command service; `browser-memory-command.test.ts` types it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  callTool,
  createHome,
  drive,
  type DrivenHost,
  hostSupport,
  packPlugin,
  removeHome,
  runHeadless,
  startScriptedModel,
  writePatch,
} from '../support/host/index.mjs'
import { MemoryHost, memoryHome, memoryPaths, memoryTree, ROW } from '../support/memory-host.ts'

interface CommandAnswer {
  kind: 'success' | 'error'
  text: string
}

/** Runs a line as the page does: through the registry, never through the model. */
function command(host: DrivenHost, session: string, line: string): Promise<CommandAnswer | null> {
  return host.evaluate(
    async (ctx, text, agent) => {
      const done = await ctx.get('commands').execute(agent, text, [], new AbortController().signal)
      return done?.result ?? null
    },
    line,
    session,
  )
}

describe.skipIf(!hostSupport().supported)('the command /memory', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start({ env: { LANG: 'C', LC_ALL: '' } })
  })

  afterAll(() => memory?.stop())

  const run = (session: string, line: string) => command(memory.host, session, line)

  test('shows and changes the memory of its session’s project, and the model is never asked', async () => {
    const session = await memory.session('tend')
    await memory.save(session, { key: 'Staging rule', content: 'Refresh first.' })
    await memory.save(session, { key: '部署规则', content: '周五不部署。' })
    const asked = memory.model.requests().length
    const before = await memory.host.events(session)

    expect(await run(session, '/memory list')).toMatchObject({
      kind: 'success',
      text: expect.stringMatching(/^2 memories of .*tend\n[^]*部署规则/),
    })
    expect((await run(session, '/memory show staging rule'))?.text).toContain('Refresh first.')
    expect((await run(session, '/memory search 周五'))?.text).toContain('部署规则')
    expect((await run(session, '/memory where'))?.text).toContain(memory.home.dshHome)
    expect((await run(session, '/memory doctor'))?.text).toContain('Nothing wrong')
    expect((await run(session, '/memory forget Staging rule'))?.text).toContain('/memory undo')
    expect((await run(session, '/memory list'))?.text).toMatch(/^1 memory of/)
    expect((await run(session, '/memory undo'))?.text).toContain('Back again')
    expect(await run(session, '/memory show nothing')).toMatchObject({ kind: 'error' })
    expect(await run(session, '/memory nonsense')).toMatchObject({ kind: 'error' })

    expect(memory.model.requests()).toHaveLength(asked)
    const added = (await memory.host.events(session)).slice(before.length)
    expect(new Set(added.map(({ type }) => type))).toEqual(new Set(['command/run', 'command/done']))
    await memory.turn(session)
    expect(memory.lastRequest(session).includes('/memory list')).toBe(false)
    expect(memory.lastRequest(session).includes('Back again')).toBe(false)
  })

  test('forgets with the session’s id, like the tool', async () => {
    const session = await memory.session('origin')
    await memory.save(session, { key: 'Rule', content: 'x' })
    await run(session, '/memory forget Rule')
    const project = await memory.home.project('origin')
    const folder = memoryPaths(memory.home, project).root.split('/').at(-2) ?? ''
    const path = (await memoryTree(memory.home)).find(
      (name) => name.includes(folder) && name.endsWith('rule.md.trash'),
    )
    const [record] = (
      await readFile(join(memory.home.dshHome, 'memories', path ?? ''), 'utf8')
    ).split('\n')
    expect(JSON.parse(record ?? '')).toMatchObject({ fileName: 'rule.md', sessionId: session })
  })

  test('why tells exactly the lines that the model was sent, not what was saved since', async () => {
    const first = await memory.session('why')
    await memory.save(first, { key: 'Template', content: 'Use ${{ secrets.X }} there.' })
    await memory.save(first, { key: 'Second', content: 'Two.' })
    const session = await memory.session('why')
    await memory.turn(session)
    await memory.save(session, { key: 'Later', content: 'Not yet known.' })

    const text = (await run(session, '/memory why'))?.text ?? ''
    const [, given = ''] = text.split('MEMORY.md:\n')
    const lines = given.split('\n').map((line) => line.slice(2))
    expect(lines).toEqual([
      '- [Template](template.md) — Use ${{ secrets.X }} there.',
      '- [Second](second.md) — Two.',
    ])
    const request = memory.model.of(session)[0]
    for (const line of lines) expect(request?.includes(line)).toBe(true)
    expect(text).toContain('2 of 2 entries')
  })

  test('why names what did not fit', async () => {
    await withLimit(async (host, session) => {
      const text = (await command(host, session, '/memory why'))?.text ?? ''
      expect(text).toContain('is given 1 of 3 entries')
      expect(text).toMatch(/over the limit of 1 line and [^]*\(rule-0\.md\)[^]*\(rule-1\.md\)/)
    })
  })

  test('in a session without a folder says that there is no memory', async () => {
    const session = await memory.host.create({})
    expect(await run(session, '/memory list')).toMatchObject({
      kind: 'error',
      text: expect.stringContaining('no working directory'),
    })
  })

  test('is there with the command service only, and goes with the plugin', async () => {
    const session = await memory.session('mounted')
    const commands = async () => (await memory.host.inspect(session)).commands
    expect(await commands()).toContain('memory')

    await memory.host.setRow(ROW, { disabled: true })
    expect(await commands()).not.toContain('memory')
    expect(await run(session, '/memory list')).toBeNull()
    await memory.host.setRow(ROW, { disabled: false })
    expect((await commands()).filter((name) => name === 'memory')).toHaveLength(1)
    expect(await run(session, '/memory list')).toMatchObject({ kind: 'success' })

    await memory.host.setRow('commands', { disabled: true })
    expect((await memory.save(session, { key: 'Without', content: 'x' })).value).toMatchObject({
      saved: true,
    })
    await memory.host.setRow('commands', { disabled: false })
    expect((await run(session, '/memory list'))?.text).toContain('Without')
  })

  async function withLimit(script: (host: DrivenHost, session: string) => Promise<void>) {
    const home = await memoryHome({ indexLineLimit: 1 })
    onTestFinished(() => removeHome(home))
    const model = await startScriptedModel([
      ...[0, 1, 2].map((count) =>
        callTool('save_project_memory', { key: `Rule ${count}`, content: 'x' }),
      ),
      'Saved.',
    ])
    onTestFinished(() => model.close())
    await drive({ home, model, env: { LANG: 'C', LC_ALL: '' } }, async (host) => {
      const cwd = await home.project()
      await host.say(await host.create({ cwd }), 'save')
      await script(host, await host.create({ cwd }))
    })
  }
})

describe.skipIf(!hostSupport().supported)('the profiles of the host', () => {
  test('web has the command, and answers in the language that the person chose there', async () => {
    const home = await createHome({ profile: 'web', plugins: [await packPlugin()] })
    onTestFinished(() => removeHome(home))
    await writePatch(home, [
      { id: 'webserver', config: { host: '127.0.0.1', port: 0 } },
      { id: 'web-runtime', config: { openBrowser: false, printUrl: false, trustedHosts: [] } },
    ])
    await writeFile(join(home.dshHome, 'settings.yaml'), 'locale:\n  preference: zh\n')
    const model = await startScriptedModel()
    onTestFinished(() => model.close())
    await drive({ home, model, env: { LANG: 'en_US.UTF-8' } }, async (host) => {
      const session = await host.create({ cwd: await home.project() })
      expect((await host.inspect(session)).commands).toContain('memory')
      expect((await command(host, session, '/memory list'))?.text).toContain('还没有记忆')
      expect((await command(host, session, '/memory'))?.text).toContain('查看和整理本项目的记忆')
    })
    expect(model.requests()).toEqual([])
  })

  test('headless starts and ends without an error, and takes the line for a task', async () => {
    const home = await memoryHome()
    onTestFinished(() => removeHome(home))
    const model = await startScriptedModel(['I know no commands.'])
    onTestFinished(() => model.close())
    const { code, requests, stderr } = await runHeadless({ home, model, task: '/memory list' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('rror') })
    expect(requests[0]?.lastPrompt).toBe('/memory list')
  })
})
