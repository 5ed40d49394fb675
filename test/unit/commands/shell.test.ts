import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runCli } from '../../../src/commands/shell.ts'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

interface Shell {
  cwd: string
  store: ProjectMemoryStore
  run: (...argv: string[]) => Promise<{ code: number; out: string; err: string }>
}

async function shell(env: Record<string, string> = {}, isTerminal = false): Promise<Shell> {
  const home = await temporaryDirectory()
  const cwd = join(home, 'app')
  await mkdir(cwd)
  const all = { DSH_HOME: join(home, 'dsh'), ...env }
  const store = new ProjectMemoryStore(resolveProjectMemoryPaths(cwd, all))
  const run: Shell['run'] = async (...argv) => {
    let out = ''
    let err = ''
    const code = await runCli(argv, {
      env: all,
      cwd,
      home,
      systemLocale: undefined,
      version: '1.2.3',
      now: () => new Date(),
      isTerminal,
      write: (text) => {
        out += text
      },
      writeError: (text) => {
        err += text
      },
    })
    return { code, out, err }
  }
  return { cwd, store, run }
}

async function withRule(env?: Record<string, string>, isTerminal?: boolean): Promise<Shell> {
  const made = await shell(env, isTerminal)
  await made.store.save({ key: 'Staging rule', content: 'Refresh \u202e first.' })
  return made
}

describe('a shell call', () => {
  test('without words shows the usage and is wrong usage', async () => {
    const { run } = await shell()
    const { code, err, out } = await run()
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('import --from zcode|claude-code')
    expect(await run('--help')).toMatchObject({ code: 0, err: '' })
    expect(await run('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' })
  })

  test('speaks the language of the environment', async () => {
    const { run } = await withRule({ LANG: 'zh_CN.UTF-8' })
    expect((await run('list')).out).toContain('1 条记忆')
    expect((await run('--help')).out).toContain('退出码')
    expect((await run('show', 'nothing')).err).toContain('没有名为“nothing”的记忆')
  })

  test.each([
    [[], '查看和整理本项目的记忆'],
    [['lst'], '没有“lst”这个命令'],
    [['show'], 'show 后面要写标题或文件名'],
    [['search'], 'search 后面要写查找的词'],
    [['list', 'x'], 'list 不接受“x”'],
    [['list', '--purge'], 'list 不接受 --purge'],
    [['import'], '缺少 --from'],
    [['import', '--from', 'vim'], '--from 不能是“vim”'],
    [['list', '--project', '/nowhere/at/all'], '不是目录，也没有记忆'],
  ])('tells wrong usage in the language of the person: %j', async (argv, part) => {
    const { run } = await shell({ LC_ALL: 'zh_CN.UTF-8' })
    const { code, err } = await run(...argv)
    expect(code).toBe(2)
    expect(err).toContain(part)
  })

  test('tells wrong usage on the error output, as JSON when asked', async () => {
    const { run } = await shell()
    expect(await run('lst')).toMatchObject({ code: 2, out: '' })
    const { code, err, out } = await run('lst', '--json')
    expect({ code, err }).toEqual({ code: 2, err: '' })
    expect(JSON.parse(out)).toMatchObject({ ok: false, code: 'USAGE' })
  })

  test.each([
    [['list'], 0],
    [['show', 'Staging rule'], 0],
    [['show', 'nothing'], 1],
    [['search', 'refresh'], 0],
    [['search', 'nothing'], 1],
    [['forget', 'nothing'], 1],
    [['forget', 'staging-rule.md'], 0],
    [['undo'], 1],
    [['why'], 0],
    [['where'], 0],
    [['doctor'], 0],
    [['doctor', 'fix'], 0],
    [['import', '--from', 'zcode'], 1],
    [['export', '--output', '-'], 0],
    [['list', '--project', '/nowhere/at/all'], 2],
    [['import', '--from', 'zcode', '--folder', 'nowhere'], 1],
  ])('%j ends with %d, in text and in JSON', async (argv, code) => {
    const { run } = await withRule()
    expect((await run(...argv)).code).toBe(code)
    const again = await withRule()
    const { out, ...json } = await again.run(...argv, '--json')
    expect(json.code).toBe(code)
    if (argv[0] !== 'export') expect(JSON.parse(out)).toMatchObject({ ok: code === 0 })
  })

  test('fails with 3 and the reason when the disk is in the way', async () => {
    const { cwd, run, store } = await shell()
    await mkdir(join(store.paths.root, '..'), { recursive: true })
    await writeFile(store.paths.root, 'a file in the place of the directory')
    const { code, err, out } = await run('list')
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain('is not a directory')
    expect(err).not.toContain('    at ')
    expect(JSON.parse((await run('list', '--json', '--project', cwd)).out)).toMatchObject({
      ok: false,
      kind: 'failure',
      code: 'UNSAFE_PATH',
    })
  })

  test('tells the whole memory in JSON, exactly', async () => {
    const { run } = await withRule()
    const { out } = await run('show', 'staging rule', '--json')
    expect(JSON.parse(out)).toMatchObject({ body: 'Refresh \u202e first.\n' })
    expect(out).not.toContain('\u202e')
  })

  test('refuses to undo over a memory that exists again', async () => {
    const { run, store } = await withRule()
    await run('forget', 'staging rule')
    await store.save({ key: 'Staging rule', content: 'Another.' })
    const { code, err } = await run('undo')
    expect(code).toBe(1)
    expect(err).toContain('is not overwritten')
  })

  test('mends after it has said what it will do', async () => {
    const { run, store } = await withRule()
    await writeFile(join(store.paths.root, 'orphan.md'), 'orphan')
    expect(await run('doctor')).toMatchObject({ code: 1 })
    const { code, out } = await run('doctor', 'fix')
    expect(code).toBe(0)
    expect(out.indexOf('Mending:\n- add a line for orphan.md')).toBe(0)
    expect(out).toContain('Mended 1 finding.')
    expect(await run('doctor')).toMatchObject({ code: 0 })
  })

  test('writes nothing but JSON when asked for it, also while mending', async () => {
    const { run, store } = await withRule()
    await writeFile(join(store.paths.root, 'orphan.md'), 'orphan')
    expect(JSON.parse((await run('doctor', 'fix', '--json')).out)).toMatchObject({
      ok: true,
      findings: [{ code: 'unfinished-save' }],
      repaired: [{ code: 'unfinished-save' }],
      remaining: [],
    })
  })

  test('says what a new session would be given', async () => {
    const { run } = await withRule()
    const outcome = JSON.parse((await run('why', '--json')).out)
    expect(outcome).toMatchObject({
      audience: 'new-session',
      entries: { shown: 1, total: 1 },
      shown: ['- [Staging rule](staging-rule.md) — Refresh first.'],
      omitted: [],
    })
    expect(outcome.guidance.tokens).toBeGreaterThan(100)
  })
})

describe('an export', () => {
  test('is one file of the form that its name tells, and replaces nothing', async () => {
    const { cwd, run } = await withRule()
    expect(await run('export', '--output', 'all.md')).toMatchObject({ code: 0 })
    expect(await readFile(join(cwd, 'all.md'), 'utf8')).toContain('## Staging rule')
    expect(await run('export', '--output', 'all.md')).toMatchObject({ code: 1 })
    expect(await run('export', '--output', 'all.md', '--force')).toMatchObject({ code: 0 })

    expect(await run('export', '--output', 'all.json')).toMatchObject({ code: 0 })
    const { memories, index } = JSON.parse(await readFile(join(cwd, 'all.json'), 'utf8'))
    expect(memories).toMatchObject([{ fileName: 'staging-rule.md', title: 'Staging rule' }])
    expect(memories[0].content).toContain('Refresh \u202e first.\n')
    expect(index).toContain('(staging-rule.md)')
  })

  test('goes to the standard output when no file is named', async () => {
    const { cwd, run } = await withRule()
    const { code, out } = await run('export')
    expect(code).toBe(0)
    expect(out).toContain('## Staging rule')
    expect(await readdir(cwd)).toEqual([])
  })

  test('onto a directory, or into one that is not there, says so', async () => {
    const { cwd, run } = await withRule()
    await mkdir(join(cwd, 'dir'))
    for (const flags of [[], ['--force']]) {
      const { code, err } = await run('export', '--output', 'dir', ...flags)
      expect({ code, err }).toEqual({
        code: 1,
        err: `${join(cwd, 'dir')} is a directory; name a file in it\n`,
      })
    }
    expect((await run('export', '--output', 'no/x.md')).err).toContain(
      'is no directory; make it first',
    )
  })

  test('leaves out what cannot be read, says so, and ends with 1', async () => {
    const { run, store } = await withRule()
    await writeFile(join(store.paths.root, 'bad.md'), Buffer.from([0xff]))
    const { code, out } = await run('export', '--output', 'all.json')
    expect(code).toBe(1)
    expect(out).toContain('bad.md')
    const toOutput = await run('export', '--json')
    expect(toOutput.code).toBe(1)
    expect(JSON.parse(toOutput.out)).toHaveProperty('memories')
    expect(toOutput.err).toContain('bad.md')
  })

  test('goes to the standard output byte for byte, escaped only on a screen', async () => {
    const piped = await withRule()
    expect((await piped.run('export', '--output', '-')).out).toContain('Refresh \u202e first.')
    const screen = await withRule({}, true)
    expect((await screen.run('export', '--output', '-')).out).toContain(
      String.raw`Refresh \u{202e} first.`,
    )
  })
})
