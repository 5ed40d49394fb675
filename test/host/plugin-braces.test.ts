/**
 * Text that the host's template language would read: memories and paths full of braces.
 */
import { mkdir, readFile, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callTool, type Home, hostSupport, removeHome } from '../support/host/index.mjs'
import {
  guidedDirectory,
  MemoryHost,
  memoryHome,
  memoryPaths,
  SAVE,
  shownIndex,
} from '../support/memory-host.ts'

const TEXTS = [
  '${{ secrets.TOKEN }}',
  '{{ user.name }}',
  '{{{x}}}',
  '{{}}',
  '{{变量}}',
  '{{hl|}}',
  '{{model}}',
  '{{cwd}}',
  '{{session}}',
  '{{project_memory_braces}}',
  '{{{{a}}}}',
  '}}{{ $& $1',
  "docker info --format '{{.OSType}}'",
]

describe.skipIf(!hostSupport().supported)('braces in memories and paths', () => {
  let home: Home
  let memory: MemoryHost

  beforeAll(async () => {
    const made = await memoryHome()
    const dshHome = join(made.root, '配置 {{x}} 目录', 'dsh')
    await mkdir(join(dshHome, '..'))
    await rename(made.dshHome, dshHome)
    home = { ...made, dshHome }
    memory = await MemoryHost.start({ home, env: { DSH_HOME: `${dshHome}/` } })
  })

  afterAll(async () => {
    await memory?.stop()
    await removeHome(home)
  })

  test('memories full of braces are saved, and reach the next session exactly', async () => {
    const project = 'plain 项目'
    const session = await memory.session(project)
    const calls = TEXTS.map((text, at) => ({
      name: SAVE,
      arguments: { key: `K${at} ${text}`, description: `D${at} ${text}`, content: `C ${text}\n` },
    }))
    const turn = await memory.turn(session, { toolCalls: calls })
    expect(turn.reason).toEqual({ kind: 'completed' })
    expect(turn.toolCalls.filter(({ isError }) => isError)).toEqual([])

    const request = await memory.freshRequest(project)
    const lines = shownIndex(request).split('\n').slice(2, -1)
    expect(lines.map((line) => line.replace(/\]\([^)]*\.md\)/, ']'))).toEqual(
      TEXTS.map((text, at) => `- [K${at} ${text}] — D${at} ${text}`),
    )
    const { root, indexFilePath } = memoryPaths(home, await home.project(project))
    expect(await readFile(indexFilePath, 'utf8')).toBe(`${lines.join('\n')}\n`)
    const files = (await readdir(root)).filter((name) => name !== 'MEMORY.md')
    const bodies = await Promise.all(files.map((name) => readFile(join(root, name), 'utf8')))
    expect(new Set(bodies.map((text) => text.split('---\n\n').at(-1)))).toEqual(
      new Set(TEXTS.map((text) => `C ${text}\n`)),
    )
    expect(request.system).toContain(`\`${root}/\``)
  })

  test('a project whose own path holds braces has a memory, wherever the host itself can run', async () => {
    // In its default mode the host puts the path into a context of its own and fails each turn.
    const project = '{{cookiecutter.slug}}'
    const open = async (): Promise<string> => {
      const session = await memory.session(project)
      await memory.mark(session, 'sandbox/mode', { mode: 'danger-full-access' })
      return session
    }
    const saved = await memory.save(await open(), { key: 'Template', content: '{{ slug }}' })
    expect(saved.value).toMatchObject({ saved: true })

    const next = await open()
    expect(await memory.turn(next)).toMatchObject({ reason: { kind: 'completed' } })
    const { root } = memoryPaths(home, await home.project(project))
    expect(guidedDirectory(memory.lastRequest(next))).toBe(root)
    expect(root).toContain('/配置 {{x}} 目录/dsh/memories/')
    expect(shownIndex(memory.lastRequest(next))).toContain('- [Template](template.md) — {{ slug }}')
  })

  test('nothing that the plugin gives to the host holds braces but its own variable', async () => {
    const session = await memory.session('plain 项目')
    const { sections, contexts } = await memory.host.inspect(session)
    const own = [...sections, ...contexts].filter(({ name }) => name.startsWith('project-memory'))
    expect(own).toHaveLength(2)
    for (const { text } of own) {
      expect(text).toContain('{{project_memory_braces}}')
      expect(text.replaceAll('{{project_memory_braces}}', '')).not.toContain('{{')
    }
    const definitions = await memory.host.evaluate((ctx) =>
      JSON.stringify(
        ctx.tools.schemas().filter(({ name }: { name: string }) => name.includes('memory')),
      ),
    )
    expect(definitions).toContain(SAVE)
    expect(definitions).not.toContain('{{')
  })

  test('a memory that another session reads with the read tool is the saved one', async () => {
    const session = await memory.session('reader')
    const content = TEXTS.join('\n')
    const { value } = await memory.save(session, { key: 'All of them', content })
    const turn = await memory.turn(session, callTool('read', { file_path: value['filePath'] }))
    for (const text of TEXTS) expect(turn.toolCalls[0]?.result).toContain(text)
  })
})
