/**
 * The program as a person and a script run it: the built package, real processes.
 */
import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import type { EndedProcess } from '../support/run-cli.ts'
import { CLI_PATH, runScript } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

interface World {
  home: string
  cwd: string
  env: Record<string, string>
  store: ProjectMemoryStore
  run: (...argv: string[]) => Promise<EndedProcess>
}

async function world(): Promise<World> {
  const home = await temporaryDirectory()
  const cwd = join(home, 'app')
  await mkdir(cwd)
  const env = { HOME: home, USERPROFILE: home, LANG: 'C' }
  const store = new ProjectMemoryStore(
    resolveProjectMemoryPaths(cwd, { DSH_HOME: join(home, '.dsh') }),
  )
  return { home, cwd, env, store, run: (...argv) => runScript(CLI_PATH, argv, { cwd, env }) }
}

describe('the program', () => {
  test('looks after the memory of the directory that it runs in', async () => {
    const { run, store } = await world()
    await store.save({ key: 'Staging rule', content: 'Refresh \u001b[31m\u202e first.' })
    await store.save({ key: '部署规则', content: '周五不部署。' })

    const list = await run('list')
    expect(list).toMatchObject({ code: 0, err: '' })
    expect(list.out).toContain('部署规则')
    expect((await run('show', 'Staging', 'rule')).out).toContain(
      String.raw`Refresh \u{1b}[31m\u{202e} first.`,
    )
    expect(await run('search', '部署')).toMatchObject({ code: 0 })
    expect(await run('forget', '部署规则')).toMatchObject({ code: 0 })
    expect(await run('show', '部署规则')).toMatchObject({ code: 1, out: '' })
    expect(await run('undo')).toMatchObject({ code: 0 })
    expect(JSON.parse((await run('list', '--json')).out)).toMatchObject({
      ok: true,
      memories: [{ title: '部署规则' }, { title: 'Staging rule' }],
    })
    expect(await run('doctor')).toMatchObject({ code: 0 })
  })

  test('tells its version, its usage, and what is wrong with a call', async () => {
    const { run } = await world()
    const manifest = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string }
    expect(await run('--version')).toMatchObject({ code: 0, out: `${manifest.version}\n` })
    expect(await run('--help')).toMatchObject({ code: 0, err: '' })
    expect(await run('lst')).toMatchObject({
      code: 2,
      out: '',
      err: '"lst" is no command\nRun dsh-zcode-project-memory --help for the commands and options.\n',
    })
  })

  test('goes by LANG, and by DSH_HOME where it is set', async () => {
    const made = await world()
    const env = { ...made.env, LANG: 'zh_CN.UTF-8', DSH_HOME: join(made.home, 'elsewhere') }
    const { out } = await runScript(CLI_PATH, ['where'], { cwd: made.cwd, env })
    expect(out).toContain('项目')
    expect(out).toContain(join(made.home, 'elsewhere', 'memories', 'projects'))
  })

  test('runs through a link, as npm installs it', async () => {
    const { cwd, env, home } = await world()
    const link = join(home, 'dsh-zcode-project-memory')
    await symlink(CLI_PATH, link)
    expect(await runScript(link, ['list'], { cwd, env })).toMatchObject({ code: 0, err: '' })
  })

  test('ends quietly when its reader has seen enough', async () => {
    const { cwd, env, store } = await world()
    await store.save({ key: 'Long', content: 'x'.repeat(3_000_000) })
    const child = spawn(process.execPath, [CLI_PATH, 'show', 'Long'], {
      cwd,
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk
    })
    child.stdout.once('data', () => child.stdout.destroy())
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })

  test('writes into the memory in its turn, when many do at once', async () => {
    const { run, store } = await world()
    const keys = Array.from({ length: 6 }, (_, index) => `Rule ${index}`)
    await Promise.all(keys.map((key) => store.save({ key, content: key })))
    const ended = await Promise.all(keys.map((key) => run('forget', key)))
    expect(ended.map(({ code, err }) => ({ code, err }))).toEqual(
      keys.map(() => ({ code: 0, err: '' })),
    )
    expect(JSON.parse((await run('list', '--json')).out).memories).toEqual([])
    expect(JSON.parse((await run('where', '--json')).out)).toMatchObject({ inTrash: 6 })
    expect(await run('doctor')).toMatchObject({ code: 0 })
  })
})
