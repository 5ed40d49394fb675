/**
 * A forget that is killed between its steps, and what the doctor makes of it.
 *
 * The lock of the killed process is made old instead of waiting ten seconds for it.
 */
import { mkdir, readFile, readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'
import { CLI_PATH, runScript } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

const FIXTURE = fileURLToPath(new URL('fixtures/forget-and-die.mjs', import.meta.url))

/** What there is after the kill, and what the doctor calls it; a temp file may be there as well. */
const STEPS = [
  ['before the copy is in the trash', 'whole', undefined],
  ['before the index is without it', 'whole', undefined],
  ['before the file is removed', 'forgotten', 'unfinished-forget'],
  ['before the lock is given back', 'forgotten', undefined],
] as const

test.each(STEPS)(
  'a forget that is killed %s is named and mended, and no memory is lost',
  async (step, state, finding) => {
    const home = await temporaryDirectory()
    const cwd = join(home, 'app')
    await mkdir(cwd)
    const env = { HOME: home, USERPROFILE: home, DSH_HOME: join(home, 'dsh'), LANG: 'C' }
    const paths = resolveProjectMemoryPaths(cwd, env)
    const store = new ProjectMemoryStore(paths)
    await store.save({ key: 'Kept', content: 'Other memory.' })
    const { filePath } = await store.save({ key: 'Doomed', content: 'To be forgotten.' })
    const bytes = await readFile(filePath)
    const run = (...argv: string[]) => runScript(CLI_PATH, argv, { cwd, env })

    const killed = await runScript(FIXTURE, [cwd, 'doomed.md', step], { cwd, env })
    expect(killed).toMatchObject({ signal: 'SIGKILL' })
    const long = new Date(Date.now() - 60_000)
    await utimes(`${paths.root}.lock`, long, long)

    const found = await run('doctor', '--json')
    expect(found.code).toBe(1)
    const codes = JSON.parse(found.out).findings.map(({ code }: { code: string }) => code)
    expect(codes).toContain('stale-lock')
    if (finding === undefined) expect(codes).not.toContain('unfinished-forget')
    else expect(codes).toContain(finding)
    expect(codes).not.toContain('unfinished-save')

    const fixed = await run('doctor', 'fix')
    expect(fixed).toMatchObject({ code: 0, err: '' })
    expect(fixed.out.startsWith('Mending:\n- remove memory.lock')).toBe(true)
    expect(await run('doctor')).toMatchObject({ code: 0 })
    expect(await readdir(join(paths.root, '..'))).toEqual(['memory'])

    const listed = JSON.parse((await run('list', '--json')).out).memories
    const titles = listed.map(({ title }: { title: string }) => title).toSorted()
    expect(titles).toEqual(state === 'whole' ? ['Doomed', 'Kept'] : ['Kept'])
    if (state === 'forgotten') expect(await run('undo', 'Doomed')).toMatchObject({ code: 0 })
    expect(await readFile(filePath)).toEqual(bytes)
    expect((await readFile(paths.indexFilePath, 'utf8')).split('(doomed.md)')).toHaveLength(2)
  },
)
