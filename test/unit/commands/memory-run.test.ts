import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { MemoryCommandCall } from '../../../src/commands/memory-run.ts'
import { runMemoryCommand } from '../../../src/commands/memory-run.ts'
import { resolveConfig } from '../../../src/config.ts'
import { SessionMemory } from '../../../src/session/session-memory.ts'
import { MemoryStores } from '../../../src/tools/stores.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

interface Session {
  run: (input: string, language?: 'en' | 'zh') => Promise<{ kind: string; text?: string }>
  stores: MemoryStores
  memory: SessionMemory
  agent: MemoryCommandCall['agent']
}

/** A session with what the command looks at; the real host runs it in `test/host`. */
async function session(
  options: { cwd?: string | undefined; origin?: string } = {},
): Promise<Session> {
  const home = await temporaryDirectory()
  const before = process.env['DSH_HOME']
  process.env['DSH_HOME'] = join(home, 'dsh')
  onTestFinished(() => {
    if (before === undefined) delete process.env['DSH_HOME']
    else process.env['DSH_HOME'] = before
  })
  const cwd = 'cwd' in options ? options.cwd : join(home, 'app')
  if (cwd !== undefined) await mkdir(cwd)
  const agent = {
    session: {
      id: 'session-1',
      header: { cwd, origin: options.origin },
      events: [],
      surface: { nodes: [] },
    },
    options: {},
  } as unknown as MemoryCommandCall['agent']
  const config = resolveConfig()
  const memory = new SessionMemory({ config, env: process.env, warn: () => undefined })
  const stores = new MemoryStores()
  const run: Session['run'] = (rawInput, language = 'en') =>
    runMemoryCommand({
      agent,
      rawInput,
      language,
      config,
      signal: new AbortController().signal,
      memory: () => memory,
      stores: () => Promise.resolve(stores),
    })
  return { run, stores, memory, agent }
}

async function withRule(): Promise<Session> {
  const made = await session()
  const project = made.memory.project(made.agent)
  if (project === undefined) throw new Error('the session has a project')
  await made.stores.of(project).save({ key: 'Staging rule', content: 'Refresh first.' })
  return made
}

describe('/memory', () => {
  test('without a word, and with help, says what there is', async () => {
    const { run } = await session()
    for (const input of ['', '  ', ' help']) {
      expect(await run(input)).toMatchObject({
        kind: 'success',
        text: expect.stringContaining('doctor'),
      })
    }
    expect((await run('', 'zh')).text).toContain('查看和整理本项目的记忆')
  })

  test.each([
    [' lst', 'none of the commands'],
    [' show', 'Which memory?'],
    [' search ', 'Which words?'],
    [' forget --purge', 'Which memory?'],
    [' doctor fxi', 'none of the commands'],
    [' show nothing', 'There is no memory "nothing"'],
    [' show zzz', 'There is no memory "zzz". /memory list shows all.'],
    [' undo', 'nothing to undo'],
    [' list --project /tmp', 'takes nothing behind it'],
    [' why now', 'takes nothing behind it'],
    [' where else', 'takes nothing behind it'],
  ])('%j is an error with what to do', async (input, part) => {
    const { run } = await withRule()
    expect(await run(input)).toMatchObject({ kind: 'error', text: expect.stringContaining(part) })
  })

  test('lists, shows, searches, forgets and brings back', async () => {
    const { run } = await withRule()
    expect(await run(' list')).toMatchObject({
      kind: 'success',
      text: expect.stringContaining('Staging rule'),
    })
    expect(await run('\tLIST\n')).toMatchObject({ kind: 'success' })
    expect((await run(' show staging rule')).text).toContain('Refresh first.')
    expect((await run(' search REFRESH')).text).toContain('staging-rule.md')
    expect((await run(' forget Staging rule')).text).toContain('/memory undo staging-rule.md')
    expect((await run(' list')).text).toContain('No memories yet')
    expect((await run(' undo')).text).toContain('Back again: Staging rule')
    expect((await run(' forget --purge "Staging rule"')).text).toContain('cannot be undone')
  })

  test('tells where everything is and mends what is broken after saying so', async () => {
    const { run, stores, memory, agent } = await withRule()
    const root = memory.project(agent)?.root ?? ''
    expect((await run(' where')).text).toContain(root)
    expect((await run(' doctor')).text).toContain('Nothing wrong')
    await writeFile(join(root, 'orphan.md'), 'x')
    expect((await run(' doctor')).text).toContain('/memory doctor fix')
    const { text = '' } = await run(' doctor fix')
    expect(text.indexOf('add a line for orphan.md')).toBeLessThan(text.indexOf('Mended 1 finding.'))
    expect((await run(' doctor fix')).text).toContain('Nothing wrong')
    await stores.close()
  })

  test('says why: what was frozen at the start of the session, not what is there now', async () => {
    const { run, stores, memory, agent } = await withRule()
    expect(memory.indexText(agent)).toContain('Staging rule')
    const project = memory.project(agent)
    if (project !== undefined) await stores.of(project).save({ key: 'Later', content: 'x' })
    const { text = '' } = await run(' why')
    expect(text).toContain('1 of 1 entry')
    expect(text).not.toContain('later.md')
    expect(memory.injected(agent).index.text).toBe(memory.indexText(agent))
  })

  test('shows the beginning of a very long memory and where the rest is', async () => {
    const { run, stores, memory, agent } = await withRule()
    const project = memory.project(agent)
    if (project === undefined) throw new Error('the session has a project')
    await stores.of(project).save({ key: 'Long', content: 'x'.repeat(100_000) })
    const { text = '' } = await run(' show Long')
    expect(text.length).toBeLessThan(21_000)
    expect(text).toContain(join(project.root, 'long.md'))
  })

  test('in a sub-agent says that it is given none', async () => {
    const { run } = await session({ origin: 'subagent' })
    expect((await run(' why')).text).toContain('it works as a sub-agent')
  })

  test('in a session without project says so', async () => {
    const { run } = await session({ cwd: undefined })
    expect(await run(' list')).toMatchObject({
      kind: 'error',
      text: expect.stringContaining('no memory'),
    })
  })

  test('tells a failing disk in one line, in the language of the person', async () => {
    const { run, memory, agent } = await withRule()
    const index = memory.project(agent)?.indexFilePath ?? ''
    await writeFile(index, Buffer.from([0xff]))
    const { kind, text } = await run(' forget Staging rule', 'zh')
    expect(kind).toBe('error')
    expect(text).toMatch(/^不是 UTF-8 文本：.*MEMORY\.md/u)
    expect(text).not.toContain('\n')
  })
})
