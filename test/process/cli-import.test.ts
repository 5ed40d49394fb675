/**
 * `import` on folders as ZCode and Claude Code leave them, in the user's home.
 */
import { mkdir, readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import type { EndedProcess } from '../support/run-cli.ts'
import { CLI_PATH, runScript } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

const TIME = new Date('2030-01-02T03:04:05.000Z')
const MEMORY =
  '---\nname: feedback_tests\ndescription: Run one file at a time\nmetadata:\n  type: feedback\n  originSessionId: old-session\n---\n\nThe machine is slow.\n'
const INDEX = '- [Running tests](feedback_tests.md) — one file at a time\n'

interface World {
  home: string
  cwd: string
  /** Our memory directory. */
  root: string
  run: (...argv: string[]) => Promise<EndedProcess>
}

async function world(): Promise<World> {
  const home = await temporaryDirectory()
  const cwd = join(home, 'my.app')
  await mkdir(cwd)
  const env = { HOME: home, USERPROFILE: home, LANG: 'C' }
  const { root } = resolveProjectMemoryPaths(cwd, { DSH_HOME: join(home, '.dsh') })
  return { home, cwd, root, run: (...argv) => runScript(CLI_PATH, argv, { cwd, env }) }
}

async function fill(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'MEMORY.md'), INDEX)
  await writeFile(join(directory, 'feedback_tests.md'), MEMORY)
  await utimes(join(directory, 'feedback_tests.md'), TIME, TIME)
}

async function expectImported({ root }: World): Promise<void> {
  const path = join(root, 'feedback_tests.md')
  expect(await readFile(path, 'utf8')).toBe(MEMORY)
  expect((await stat(path)).mtimeMs).toBe(TIME.getTime())
  expect(await readFile(join(root, 'MEMORY.md'), 'utf8')).toBe(INDEX)
}

describe('import', () => {
  test('from ZCode previews first, then copies with --apply, and a second time finds nothing new', async () => {
    const made = await world()
    const { home, root, run } = made
    expect(await run('import', '--from', 'zcode')).toMatchObject({ code: 1 })
    await fill(root.replace(join(home, '.dsh'), join(home, '.zcode', 'cli')))

    const preview = await run('import', '--from', 'zcode')
    expect(preview).toMatchObject({ code: 0, err: '' })
    expect(preview.out).toContain('feedback_tests.md  Running tests · would be copied')
    expect(preview.out).toContain('Nothing was copied. Add --apply to copy.')
    await expect(readdir(join(home, '.dsh'))).rejects.toThrow('ENOENT')

    expect((await run('import', '--from', 'zcode', '--apply')).out).toContain('Copied 1 memory')
    await expectImported(made)
    const { memories } = JSON.parse((await run('list', '--json')).out)
    expect(memories).toMatchObject([{ sessionId: 'old-session', modified: TIME.toISOString() }])

    await writeFile(join(root, 'feedback_tests.md'), 'mine now\n')
    const again = await run('import', '--from', 'zcode', '--apply', '--json')
    expect(JSON.parse(again.out)).toMatchObject({ applied: true, items: [{ state: 'differs' }] })
    expect(await readFile(join(root, 'feedback_tests.md'), 'utf8')).toBe('mine now\n')
  })

  test('from Claude Code takes the folder whose session log names this project', async () => {
    const made = await world()
    const folder = join(made.home, '.claude', 'projects', made.cwd.replaceAll(/[^A-Za-z0-9]/g, '-'))
    await fill(join(folder, 'memory'))
    await writeFile(
      join(folder, 'a.jsonl'),
      `{"type":"summary"}\n${JSON.stringify({ cwd: made.cwd })}\n`,
    )
    expect(await made.run('import', '--from', 'claude-code', '--apply')).toMatchObject({ code: 0 })
    await expectImported(made)
  })

  test('from Claude Code cannot tell without such a log, and copies only from a named folder', async () => {
    const made = await world()
    const folder = join(made.home, '.claude', 'projects', made.cwd.replaceAll(/[^A-Za-z0-9]/g, '-'))
    await fill(join(folder, 'memory'))
    const other = join(made.home, 'my-app')
    await writeFile(join(folder, 'a.jsonl'), `${JSON.stringify({ cwd: other })}\n`)
    for (const apply of [[], ['--apply']]) {
      const { code, out } = await made.run('import', '--from', 'claude-code', ...apply)
      expect(code).toBe(1)
      expect(out).toContain('cannot be told')
      expect(out).toContain(other)
    }
    await expect(readdir(join(made.home, '.dsh'))).rejects.toThrow('ENOENT')

    const named = ['import', '--from', 'claude-code', '--folder', folder]
    expect(await made.run(...named, '--apply')).toMatchObject({ code: 0 })
    await expectImported(made)
  })
})
