import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ImportProgram, ImportSource } from '../../../src/store/import-source.ts'
import { claudeFolderName, findImportSource } from '../../../src/store/import-source.ts'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

interface World {
  home: string
  project: string
  find: (
    program: ImportProgram,
    more?: { folder?: string; project?: string },
  ) => Promise<ImportSource | undefined>
}

async function world(): Promise<World> {
  const home = await temporaryDirectory()
  const project = join(home, 'work', 'my.app')
  await mkdir(project, { recursive: true })
  const find: World['find'] = (program, more = {}) =>
    findImportSource({ program, projectRoot: more.project ?? project, home, folder: more.folder })
  return { home, project, find }
}

/** A folder of Claude Code with memories and one session log per line list. */
async function claudeFolder({ home, project }: World, ...logs: string[][]): Promise<string> {
  const folder = join(home, '.claude', 'projects', claudeFolderName(project))
  await mkdir(join(folder, 'memory'), { recursive: true })
  for (const [index, lines] of logs.entries()) {
    await writeFile(join(folder, `session-${index}.jsonl`), `${lines.join('\n')}\n`)
  }
  return join(folder, 'memory')
}

function line(cwd: string): string {
  return JSON.stringify({ type: 'user', cwd, message: { content: 'hi' } })
}

describe('memories of ZCode', () => {
  test('lie under the same slug and hash as ours', async () => {
    const made = await world()
    expect(await made.find('zcode')).toBeUndefined()
    const ours = resolveProjectMemoryPaths(made.project, { DSH_HOME: '/dsh' }).root
    const directory = join(made.home, '.zcode', 'cli', ours.slice('/dsh/'.length))
    await mkdir(directory, { recursive: true })
    expect(await made.find('zcode')).toEqual({
      directory,
      isThisProject: true,
      otherProjects: [],
    })
  })

  test('are found under the spelling of the path that ZCode was given', async () => {
    const made = await world()
    const link = join(made.home, 'link')
    await symlink(made.project, link)
    const env = { DSH_HOME: join(made.home, '.zcode', 'cli') }
    const { root } = resolveProjectMemoryPaths(link, env, 'given')
    await mkdir(root, { recursive: true })
    expect(await made.find('zcode')).toBeUndefined()
    expect(await made.find('zcode', { project: link })).toMatchObject({ directory: root })
  })
})

describe('memories of Claude Code', () => {
  test('lie in a folder with a dash for everything but letters and digits', () => {
    expect(claudeFolderName('/home/a_b/My.App 项')).toBe('-home-a-b-My-App--')
    expect(claudeFolderName('C:\\src\\app')).toBe('C--src-app')
  })

  test('are taken when a session log names this path', async () => {
    const made = await world()
    expect(await made.find('claude-code')).toBeUndefined()
    const directory = await claudeFolder(made, [
      '{"type":"summary"}',
      'not json "cwd"',
      line(made.project),
    ])
    expect(await made.find('claude-code')).toEqual({
      directory,
      isThisProject: true,
      otherProjects: [],
    })
  })

  test('are not taken without a log, or when the logs name other paths only', async () => {
    const made = await world()
    const directory = await claudeFolder(made)
    expect(await made.find('claude-code')).toMatchObject({ directory, isThisProject: false })
    const twin = join(dirname(made.project), 'my-app')
    await claudeFolder(made, [line(twin)], [])
    expect(await made.find('claude-code')).toEqual({
      directory,
      isThisProject: false,
      otherProjects: [twin],
    })
  })

  test('go by where a session began, not by where it went later', async () => {
    const made = await world()
    const twin = join(dirname(made.project), 'my-app')
    await claudeFolder(made, [line(twin), line(made.project)])
    expect(await made.find('claude-code')).toMatchObject({ isThisProject: false })
  })

  test('are not proved by a path that only somebody wrote in a message', async () => {
    const made = await world()
    const quoted = JSON.stringify({
      message: { cwd: made.project, text: `"cwd":"${made.project}"` },
    })
    await claudeFolder(made, [quoted])
    expect(await made.find('claude-code')).toMatchObject({ isThisProject: false })
  })

  test('name the other paths that share the folder', async () => {
    const made = await world()
    const twin = join(dirname(made.project), 'my-app')
    await claudeFolder(made, [line(twin)], [line(made.project)], [line(twin)])
    expect(await made.find('claude-code')).toMatchObject({
      isThisProject: true,
      otherProjects: [twin],
    })
  })

  test('are looked for under both spellings of the path, the proven one first', async () => {
    const made = await world()
    await claudeFolder(made)
    const link = join(made.home, 'link')
    await symlink(made.project, link)
    expect(await made.find('claude-code', { project: link })).toMatchObject({
      isThisProject: false,
    })
    const directory = await claudeFolder({ ...made, project: link }, [line(link)])
    expect(await made.find('claude-code', { project: link })).toEqual({
      directory,
      isThisProject: true,
      otherProjects: [],
    })
  })

  test('are found in a log that begins with something very long', async () => {
    const made = await world()
    const long = JSON.stringify({ type: 'snapshot', data: 'x'.repeat(300_000) })
    await claudeFolder(made, [long, line(made.project)])
    expect(await made.find('claude-code')).toMatchObject({ isThisProject: true })
  })
})

describe('a folder that the person names', () => {
  test('is the folder with the memories or the one above, and is taken as it is', async () => {
    const made = await world()
    const directory = await claudeFolder(made)
    for (const folder of [directory, dirname(directory)]) {
      expect(await made.find('claude-code', { folder })).toEqual({
        directory,
        isThisProject: true,
        otherProjects: [],
      })
    }
    const elsewhere = join(made.home, 'elsewhere')
    expect(await made.find('zcode', { folder: elsewhere })).toBeUndefined()
    await rename(directory, elsewhere)
    expect(await made.find('zcode', { folder: elsewhere })).toMatchObject({ directory: elsewhere })
  })
})
