/**
 * Whose memory a session has: one directory for saving, showing and telling, wherever it runs.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callTool, type Home, hostSupport, removeHome } from '../support/host/index.mjs'
import {
  guidedDirectory,
  MemoryHost,
  memoryHome,
  memoryPaths,
  memoryTree,
  saveStep,
  shownIndex,
} from '../support/memory-host.ts'

describe.skipIf(!hostSupport().supported)('the memory directory of a session', () => {
  let home: Home
  let memory: MemoryHost

  beforeAll(async () => {
    const made = await memoryHome()
    // The whole home stands behind a link, as after a move to another disk.
    const dshHome = join(made.root, 'linked-home')
    await symlink(made.dshHome, dshHome)
    home = { ...made, dshHome }
    memory = await MemoryHost.start({ home, env: { DSH_HOME: dshHome } })
  })

  afterAll(async () => {
    await memory?.stop()
    await removeHome(home)
  })

  const open = (cwd: string): Promise<string> => memory.host.create({ cwd })

  /** Saves in one session, looks in the next, and returns the directory that all name. */
  async function directoryOf(
    cwd: string,
    ...before: Parameters<MemoryHost['turn']>[1][]
  ): Promise<string> {
    const session = await open(cwd)
    const turn = await memory.turn(session, ...before, saveStep({ key: 'Mark', content: cwd }))
    expect(turn.reason).toEqual({ kind: 'completed' })
    const { filePath } = JSON.parse(turn.toolCalls.at(-1)?.result ?? '{}') as { filePath: string }
    const next = await open(cwd)
    await memory.turn(next)
    const request = memory.lastRequest(next)
    expect(shownIndex(request)).toContain('- [Mark](mark.md)')
    expect(shownIndex(request)).toContain(`\`${dirname(filePath)}/MEMORY.md\``)
    expect(guidedDirectory(request)).toBe(dirname(filePath))
    expect(guidedDirectory(memory.lastRequest(session))).toBe(dirname(filePath))
    return dirname(filePath)
  }

  test('a subdirectory, a worktree and the repository itself have one each', async () => {
    const repository = await home.project('repository')
    const git = (...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.invalid', ...args], {
        cwd: repository,
        stdio: 'ignore',
      })
    git('init')
    git('commit', '--allow-empty', '-m', 'first')
    const worktree = join(dirname(repository), 'worktree')
    git('worktree', 'add', worktree)
    const subdirectory = join(repository, 'packages', 'inner')
    await mkdir(subdirectory, { recursive: true })

    const directories = new Set<string>()
    for (const cwd of [repository, worktree, subdirectory]) {
      const directory = await directoryOf(cwd)
      expect(directory).toBe(memoryPaths(home, cwd).root)
      directories.add(directory)
    }
    expect(directories.size).toBe(3)
  })

  test('every spelling of one path has one', async () => {
    const project = await home.project('spelt')
    const link = join(dirname(project), 'other-name')
    await symlink(project, link)
    await mkdir(join(project, 'sub'))
    const spellings = [project, `${project}/`, `${project}/./sub/..`, link, `${link}/`]
    const directories = new Set<string>()
    for (const cwd of spellings) directories.add(await directoryOf(cwd))
    expect([...directories]).toEqual([memoryPaths(home, project).root])
  })

  test('changing the directory in the shell does not move it', async () => {
    const project = await home.project('shell')
    const other = await home.project('elsewhere')
    const change = callTool('bash', { command: `cd ${other} && pwd`, description: 'go elsewhere' })
    expect(await directoryOf(project, change)).toBe(memoryPaths(home, project).root)
    expect(existsSync(memoryPaths(home, other).root)).toBe(false)
  })

  test.each([
    ['moved', (project: string) => rename(project, `${project}-2`)],
    ['removed', (project: string) => rm(project, { recursive: true })],
  ])(
    'a project that is %s while its session runs keeps its memory and is not made again',
    async (name, change) => {
      const project = await home.project(name)
      const { root } = memoryPaths(home, project)
      const session = await open(project)
      await memory.save(session, { key: 'Before', content: 'x' })
      await change(project)
      const { value } = await memory.save(session, { key: 'After', content: 'x' })
      expect(value).toMatchObject({
        saved: true,
        filePath: join(root, 'after.md'),
        indexEntries: 2,
      })
      expect(await memory.turn(session)).toMatchObject({ reason: { kind: 'completed' } })
      expect(guidedDirectory(memory.lastRequest(session))).toBe(root)

      const next = await open(project)
      await memory.turn(next)
      expect(shownIndex(memory.lastRequest(next))).toContain('- [After](after.md)')
      expect(existsSync(project)).toBe(false)
    },
  )

  test('the root directory is a project like any other', async () => {
    const directory = await directoryOf('/')
    expect(basename(dirname(directory))).toMatch(/^project-[0-9a-f]{16}$/)
    expect(directory).toBe(memoryPaths(home, '/').root)
  })

  test('none of them lies outside of the home', async () => {
    const tree = await memoryTree(home)
    expect(
      tree.filter(
        (path) => !/^projects(\/[a-z0-9._-]+-[0-9a-f]{16}(\/memory(\/[\w-]+\.md)?)?)?$/.test(path),
      ),
    ).toEqual([])
  })
})
