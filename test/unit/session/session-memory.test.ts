import fs from 'node:fs'
import { appendFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { resolveConfig, type Config } from '../../../src/config.ts'
import { PROMPT_BRACES_VALUE, PROMPT_BRACES_VARIABLE } from '../../../src/prompt/escape.ts'
import { INDEX_CONTEXT_NAME } from '../../../src/session/names.ts'
import { SessionMemory } from '../../../src/session/session-memory.ts'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import type { ProjectMemoryPaths } from '../../../src/types.ts'
import type { TestAgent } from '../../support/session-agent.ts'
import { asAgent, logCompaction, logSnapshot, testAgent } from '../../support/session-agent.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

interface World {
  memory: SessionMemory
  warnings: string[]
  project: string
  paths: ProjectMemoryPaths
  env: { DSH_HOME: string }
}

/** A project with an empty memory directory, and the plugin's view of it. */
async function world(config: Config = {}): Promise<World> {
  const folder = await temporaryDirectory()
  const env = { DSH_HOME: join(folder, 'dsh') }
  const project = join(folder, 'project')
  await mkdir(project)
  const paths = resolveProjectMemoryPaths(project, env)
  await mkdir(paths.root, { recursive: true })
  const warnings: string[] = []
  const warn = (message: string): void => void warnings.push(message)
  const memory = new SessionMemory({ config: resolveConfig(config), env, warn })
  return { memory, warnings, project, paths, env }
}

const writeIndex = ({ paths }: World, ...titles: string[]): Promise<void> =>
  writeFile(paths.indexFilePath, titles.map((title) => `- [${title}](x.md) — hook\n`).join(''))

const indexOf = ({ memory }: World, agent: TestAgent): string => memory.indexText(asAgent(agent))

const guidanceOf = ({ memory }: World, agent: TestAgent): string =>
  memory.guidanceText(asAgent(agent))

/** Counts calls of `node:fs` functions while `work` runs. */
function callsOf(work: () => void): number {
  const module = fs as unknown as Record<string, unknown>
  const restore: (() => void)[] = []
  let calls = 0
  for (const [name, value] of Object.entries(module)) {
    if (typeof value !== 'function' || !name.endsWith('Sync')) continue
    restore.push(() => (module[name] = value))
    module[name] = (...args: unknown[]): unknown => {
      calls += 1
      return (value as (...args: unknown[]) => unknown)(...args)
    }
  }
  syncBuiltinESMExports()
  try {
    work()
  } finally {
    for (const undo of restore) undo()
    syncBuiltinESMExports()
  }
  return calls
}

describe('a main session', () => {
  test('gets the index once and keeps it, while a new session sees the change', async () => {
    const w = await world()
    await writeIndex(w, 'One')
    const agent = testAgent({ cwd: w.project })
    const first = indexOf(w, agent)
    expect(first).toContain('- [One](x.md) — hook')
    await writeIndex(w, 'One', 'Two')
    expect(indexOf(w, agent)).toBe(first)
    expect(indexOf(w, testAgent({ cwd: w.project }))).toContain('- [Two](x.md)')
  })

  test('keeps to having no index when there was none, also when one is made later', async () => {
    const w = await world()
    const agent = testAgent({ cwd: w.project })
    expect(indexOf(w, agent)).toBe('')
    await writeIndex(w, 'One')
    expect(indexOf(w, agent)).toBe('')
    expect(w.warnings).toEqual([])
  })

  test('reads nothing for an index that it was given', async () => {
    const w = await world()
    await writeIndex(w, 'One')
    const agent = testAgent({ cwd: w.project })
    const read = (): void => void (indexOf(w, agent) + guidanceOf(w, agent))
    expect(callsOf(read)).toBeGreaterThan(0)
    expect(callsOf(read)).toBe(0)
  })

  test('an empty index is no index', async () => {
    const w = await world()
    await writeFile(w.paths.indexFilePath, '\n<!-- nothing yet -->\n\n')
    expect(indexOf(w, testAgent({ cwd: w.project }))).toBe('')
  })

  test('guidance and index carry braces past the host exactly', async () => {
    const w = await world()
    await writeIndex(w, '{{ a }} ${{ b }} {{{c}}}')
    const text = indexOf(w, testAgent({ cwd: w.project }))
    const rendered = text.replaceAll(`{{${PROMPT_BRACES_VARIABLE}}}`, PROMPT_BRACES_VALUE)
    expect(rendered).toContain('- [{{ a }} ${{ b }} {{{c}}}](x.md)')
    expect(text.replaceAll(`{{${PROMPT_BRACES_VARIABLE}}}`, '')).not.toContain('{{')
  })
})

describe('reading again', () => {
  test('after compaction, once, and not for a replacement that leaves the snapshot', async () => {
    const w = await world()
    await writeIndex(w, 'One')
    const agent = testAgent({ cwd: w.project })
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: indexOf(w, agent) })
    await writeIndex(w, 'Two')
    const session = asAgent(agent).session
    w.memory.onHistoryReplaced(session)
    expect(indexOf(w, agent)).toContain('[One]')
    logCompaction(agent)
    w.memory.onHistoryReplaced(session)
    expect(indexOf(w, agent)).toContain('[Two]')
    await writeIndex(w, 'Three')
    expect(indexOf(w, agent)).toContain('[Two]')
  })

  test('a replaced history of a session that was never asked about is nobody’s business', async () => {
    const w = await world()
    expect(() => w.memory.onHistoryReplaced(asAgent(testAgent()).session)).not.toThrow()
  })

  test('with indexRefresh: change after each change of the file, and only then', async () => {
    const w = await world({ indexRefresh: 'change' })
    const agent = testAgent({ cwd: w.project })
    expect(indexOf(w, agent)).toBe('')
    await writeIndex(w, 'One')
    const first = indexOf(w, agent)
    expect(first).toContain('[One]')
    expect(indexOf(w, agent)).toBe(first)
    await appendFile(w.paths.indexFilePath, '- [Two](y.md)\n')
    expect(indexOf(w, agent)).toContain('[Two]')
    await rm(w.paths.indexFilePath)
    expect(indexOf(w, agent)).toBe('')
    await mkdir(w.paths.indexFilePath)
    expect(indexOf(w, agent)).toContain('cannot be read')
    expect(indexOf(w, agent)).toContain('cannot be read')
    expect(w.warnings).toHaveLength(1)
  })
})

describe('an index that cannot be read', () => {
  test('gives one line with the reason and one warning, and is not read at each step', async () => {
    const w = await world()
    await writeFile(w.paths.indexFilePath, Buffer.from([0xb2, 0xbf, 0x0a]))
    const agent = testAgent({ cwd: w.project })
    const text = indexOf(w, agent)
    expect(text).toMatch(/^Project memory index [^\n]* cannot be read[^\n]*not UTF-8[^\n]*$/)
    await writeIndex(w, 'Mended')
    expect(indexOf(w, agent)).toBe(text)
    expect(w.warnings).toEqual([expect.stringContaining('not UTF-8')])
    expect(guidanceOf(w, agent)).toContain('# Persistent Project Memory')
  })

  test('a link in place of a directory of ours is not followed', async () => {
    const w = await world()
    const { root } = w.paths
    const victim = await temporaryDirectory()
    await writeFile(join(victim, 'MEMORY.md'), '- [Secret](x.md)\n')
    await rm(root, { recursive: true })
    await symlink(victim, root)
    const text = indexOf(w, testAgent({ cwd: w.project }))
    expect(text).toContain('cannot be read')
    expect(text).not.toContain('Secret')
    expect(dirname(root)).not.toBe(victim)
  })
})

describe('a sub-agent', () => {
  const child = (project: string): TestAgent =>
    testAgent({ cwd: project, origin: 'subagent', delegationDepth: 1 })

  test('that was spawned gets guidance and no index', async () => {
    const w = await world()
    await writeIndex(w, 'One')
    const agent = child(w.project)
    expect(indexOf(w, agent)).toBe('')
    expect(guidanceOf(w, agent)).toBe(guidanceOf(w, testAgent({ cwd: w.project })))
    expect(w.memory.injected(asAgent(agent)).index).toEqual({ kind: 'none', text: '' })
  })

  test('that was forked gets exactly what its parent was shown, braces and all', async () => {
    const w = await world()
    await writeIndex(w, 'Newer')
    const agent = child(w.project)
    const shown = 'Index of the parent: {{ a }}\n```\n- [One](x.md)\n```'
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: shown })
    const text = indexOf(w, agent)
    expect(text.replaceAll(`{{${PROMPT_BRACES_VARIABLE}}}`, PROMPT_BRACES_VALUE)).toBe(shown)
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: 'something else' })
    expect(indexOf(w, agent)).toBe(text)
    expect(w.memory.injected(asAgent(agent)).index).toEqual({ kind: 'inherited', text: shown })
  })

  test('with indexRefresh: change keeps what it has', async () => {
    const w = await world({ indexRefresh: 'change' })
    const agent = child(w.project)
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: 'kept' })
    expect(indexOf(w, agent)).toBe('kept')
    await writeIndex(w, 'One')
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: 'changed by somebody' })
    expect(indexOf(w, agent)).toBe('kept')
  })

  test('with subagents: all reads the index itself and is told that it may save', async () => {
    const w = await world({ subagents: 'all' })
    await writeIndex(w, 'One')
    const agent = child(w.project)
    logSnapshot(agent, { [INDEX_CONTEXT_NAME]: 'older' })
    expect(indexOf(w, agent)).toContain('[One]')
    expect(guidanceOf(w, agent)).not.toMatch(/sub-agent/i)
  })
})

describe('whose memory', () => {
  test.each([undefined, '', 'relative/path', './here', '/nul\0byte'])(
    'a working directory %j belongs to no project',
    async (cwd) => {
      const w = await world()
      const agent = testAgent(cwd === undefined ? {} : { cwd })
      expect(w.memory.project(asAgent(agent))).toBeUndefined()
      expect(guidanceOf(w, agent)).toBe('')
      expect(indexOf(w, agent)).toBe('')
      expect(w.memory.injected(asAgent(agent))).toEqual({
        project: undefined,
        guidance: '',
        index: { kind: 'none', text: '' },
      })
    },
  )

  test('is decided once per session, whatever becomes of links and folders', async () => {
    const w = await world()
    const link = `${w.project}-link`
    await symlink(w.project, link)
    const agent = testAgent({ cwd: link })
    expect(w.memory.project(asAgent(agent))).toEqual(w.paths)
    await rm(link)
    await rm(w.project, { recursive: true })
    expect(w.memory.project(asAgent(agent))).toEqual(w.paths)
    expect(guidanceOf(w, agent)).toContain(w.paths.root)
  })

  test('with projectRoot: given keeps the spelling of the path', async () => {
    const w = await world({ projectRoot: 'given' })
    const link = `${w.project}-link`
    await symlink(w.project, link)
    expect(w.memory.project(asAgent(testAgent({ cwd: link })))?.projectRoot).toBe(link)
    expect(w.memory.project(asAgent(testAgent({ cwd: w.project })))).toEqual(w.paths)
  })

  test('follows DSH_HOME as it is when the session begins', async () => {
    const w = await world()
    const before = w.memory.project(asAgent(testAgent({ cwd: w.project })))
    w.env.DSH_HOME = `${w.env.DSH_HOME}-moved`
    const after = w.memory.project(asAgent(testAgent({ cwd: w.project })))
    expect(before?.root).toBe(w.paths.root)
    expect(after?.root.startsWith(`${w.env.DSH_HOME}/`)).toBe(true)
  })
})

test('a person who asks is told the same text that the model sees', async () => {
  const w = await world({ indexLineLimit: 1 })
  await writeIndex(w, '{{ One }}', 'Two')
  const agent = testAgent({ cwd: w.project })
  const { index, guidance, project } = w.memory.injected(asAgent(agent))
  const rendered = indexOf(w, agent).replaceAll(`{{${PROMPT_BRACES_VARIABLE}}}`, '{{')
  expect(index.text).toBe(rendered)
  expect(index.kind).toBe('shown')
  expect(guidance).toBe(guidanceOf(w, agent))
  expect(project).toEqual(w.paths)
  onTestFinished(() => expect(w.warnings).toEqual([]))
})
