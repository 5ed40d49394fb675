import { execFileSync } from 'node:child_process'
import { link as addName, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  denyMemoryAgentBash,
  denyMemoryAgentTool,
  denyUnavailableTool,
  evaluateMemoryAgentToolPolicy,
  isContainedMarkdownMutation,
  isPlainMemoryDirectory,
  MEMORY_AGENT_READ_ONLY_TOOLS,
  MEMORY_AGENT_SHELL_TOOLS,
  MEMORY_AGENT_WRITE_TOOLS,
  resolveContainedMemoryFilePath,
} from '../../../src/subsystems/memory-agent/index.ts'
import {
  agentWorld,
  decideCall,
  HOST_TOOLS,
  type AgentWorld,
} from '../../support/memory-agent-world.ts'

function mayWrite(world: Pick<AgentWorld, 'memory' | 'project'>, file_path: unknown): boolean {
  const write = decideCall(world, 'write', { file_path, content: '' }).allowed
  expect(decideCall(world, 'edit', { file_path }).allowed).toBe(write)
  return write
}

describe('a file that the memory agent writes', () => {
  it('has one name', async () => {
    const world = await agentWorld()
    await addName(join(world.project, 'f'), join(world.memory, 'second.md'))
    expect(mayWrite(world, join(world.memory, 'second.md'))).toBe(false)
    expect(mayWrite(world, join(world.memory, 'a.md'))).toBe(true)
  })

  it('has no name that looks like an option', async () => {
    const world = await agentWorld()
    expect(mayWrite(world, join(world.memory, '--files0-from=list.md'))).toBe(false)
    expect(mayWrite(world, join(world.memory, '-sub', 'a.md'))).toBe(false)
    expect(mayWrite(world, join(world.memory, 'a-b.md'))).toBe(true)
  })

  it('is not reached through a link that cannot be read as text', async () => {
    const world = await agentWorld()
    const odd = (name: string): Buffer => Buffer.concat([Buffer.from(name), Buffer.from([0xff])])
    await symlink(world.project, odd(`${world.memory}/`))
    await symlink(odd(`${world.memory}/`), join(world.project, 'up'))
    const path = join(world.project, 'up', 'evil.md')
    await writeFile(path, '')
    expect(mayWrite(world, path)).toBe(false)
    expect(decideCall(world, 'bash', { command: `rm ${path}` }).allowed).toBe(false)
  })
})

describe('which tools the memory agent has', () => {
  it('lets it read anything', async () => {
    const world = await agentWorld()
    for (const name of MEMORY_AGENT_READ_ONLY_TOOLS) {
      expect(decideCall(world, name, { file_path: '/etc/passwd' })).toEqual({ allowed: true })
    }
  })

  it('answers a name that was not offered with that name only', async () => {
    const world = await agentWorld()
    for (const name of ['Write', 'BASH', 'bash ', 'web_fetch', 'task', '', '__proto__', 'length']) {
      expect(decideCall(world, name, {})).toEqual({
        allowed: false,
        reason: `No such tool available: ${name}`,
      })
    }
    expect(decideCall(world, 'read', {}, { tools: [] }).reason).toContain('No such tool')
    expect(decideCall(world, 5 as unknown as string, {}).allowed).toBe(false)
    expect(decideCall(world, '', {}, { tools: [''] }).reason).toContain('No such tool')
    expect(denyUnavailableTool('x').reason).toBe('No such tool available: x')
  })

  it('refuses offered tools that are not for it, also those that say they only read', async () => {
    const world = await agentWorld()
    const others = ['Agent', 'mcp__fs__write_file', 'web_fetch', 'subagent', 'read_image', 'Write']
    const tools = others.map((name) => ({ name, readOnly: true }))
    for (const name of others) {
      const { allowed, reason } = decideCall(world, name, {}, { tools })
      expect(allowed).toBe(false)
      expect(reason).toContain(world.memory)
      expect(reason).toContain('read, grep and glob')
    }
  })

  it('refuses even a reading tool whose contract reaches the network', async () => {
    const world = await agentWorld()
    const scopes = [
      { sideEffect: { scope: 'network' } },
      { sideEffectScope: 'network' },
      { sideEffects: { scope: 'network' } },
      { contract: { sideEffect: { scope: 'network' } } },
      { contract: { sideEffectScope: 'network' } },
    ]
    for (const scope of scopes) {
      expect(decideCall(world, 'read', {}, { tools: [{ name: 'read', ...scope }] }).allowed).toBe(
        false,
      )
    }
    const local = [{ name: 'read', sideEffect: { scope: 'workspace' } }]
    expect(decideCall(world, 'read', {}, { tools: local }).allowed).toBe(true)
  })

  it('takes tool declarations as well as names', async () => {
    const world = await agentWorld()
    const tools = HOST_TOOLS.map((name) => ({ name, description: 'x' }))
    const file_path = join(world.memory, 'new.md')
    expect(decideCall(world, 'write', { file_path }, { tools }).allowed).toBe(true)
    expect(decideCall(world, 'nothing', {}, { tools: [null as never] }).allowed).toBe(false)
  })

  it('names the memory directory in every refusal it makes', () => {
    for (const refusal of [denyMemoryAgentTool('/m'), denyMemoryAgentBash('/m')]) {
      expect(refusal.allowed).toBe(false)
      expect(refusal.reason).toContain('/m')
    }
    expect(denyMemoryAgentTool('/m', 'x'.repeat(5000)).reason.length).toBeLessThan(1000)
  })

  it('keeps its tool lists out of the reach of importers', () => {
    const lists = [MEMORY_AGENT_READ_ONLY_TOOLS, MEMORY_AGENT_WRITE_TOOLS, MEMORY_AGENT_SHELL_TOOLS]
    expect(lists.map((list) => Object.isFrozen(list))).toEqual([true, true, true])
  })

  it('throws for a directory that is not absolute', async () => {
    const { memory, project } = await agentWorld()
    const good = { rootDir: memory, workingDirectory: project, workspaceRoot: project }
    const toolCall = { name: 'read', input: {} }
    for (const field of ['rootDir', 'workingDirectory', 'workspaceRoot']) {
      const input = { ...good, [field]: 'relative', toolCall, tools: HOST_TOOLS }
      expect(() => evaluateMemoryAgentToolPolicy(input)).toThrow(field)
    }
  })
})

describe('which files the memory agent may write', () => {
  it('allows Markdown in the memory directory, also in new folders', async () => {
    const world = await agentWorld()
    const names = ['a.md', 'MEMORY.md', 'new/x.md', 'notes/x.md', 'sub/a.md', '..foo.md', '部署.md']
    const near = ['.git-notes/x.md', 'config.md', 'skills.md', 'x.git./x.md', 'headline/x.md']
    for (const name of [...names, ...near]) {
      expect(`${name} ${mayWrite(world, join(world.memory, name))}`).toBe(`${name} true`)
    }
    expect(mayWrite({ ...world, project: world.memory }, 'x.md')).toBe(true)
    expect(mayWrite({ ...world, project: world.memory }, 'sub/../x.md')).toBe(true)
  })

  it('refuses names that a tool or an editor gives a meaning, however they are dressed', async () => {
    const world = await agentWorld()
    const names = [
      '.git',
      '.GIT',
      '.git.',
      '.git ',
      '.g\u200Bit',
      '.g\u200Cit',
      '.git:stream',
      'SKILLS',
      'skills.',
      'skills ',
      'agents:s',
      'hooks\u202E',
      'hooks:stream',
      '.ZCODE',
      'node_modules',
      'Config',
      'HEAD',
      'objects',
      'refs',
      '.husky',
      '.githooks',
      '.vscode',
      '.idea',
      'commands',
      '.cargo',
      '.devcontainer',
      '.yarn',
      '.mvn',
      'ho\u00ADoks',
      'hooKs',
      'hook\u017F',
      '.trash',
      'h\u{E0001}ooks',
      'hooks\uFE0F',
      'hooks. .',
      '\u2066hooks',
    ]
    const allowed = names.filter((name) => mayWrite(world, `${world.memory}/${name}/x.md`))
    expect(allowed).toEqual([])
    const deep = names.filter((name) => mayWrite(world, `${world.memory}/sub/${name}/deep/x.md`))
    expect(deep).toEqual([])
  })

  it('refuses what is not a Markdown file inside it', async () => {
    const world = await agentWorld()
    const { memory } = world
    execFileSync('mkfifo', [join(memory, 'fifo.md')])
    await mkdir(join(memory, 'folder.md'))
    const refused: unknown[] = [
      `${memory}-evil/x.md`,
      `${memory}/../x.md`,
      `${memory}/a/../../../x.md`,
      `${memory}/x.md/../../x.md`,
      `${memory}/x.md.sh`,
      `${memory}/x.MD.exe`,
      `${memory}/x.MD`,
      `${memory}/x.md `,
      `${memory}/x.md\0`,
      `${memory}/x\u0007.md`,
      `${memory}/x\ud800.md`,
      'x.md',
      './x.md',
      memory,
      `${memory}/`,
      `${memory}/.md/`,
      `${memory}/.md`,
      `${memory}/x.md/`,
      `file://${memory}/x.md`,
      `/${memory}/x.md`,
      `\\\\srv\\x.md`,
      `~/x.md`,
      '',
      ' ',
      `${memory}/link/x.md`,
      `${memory}/link/../x.md`,
      `${memory}/..\\..\\x.md`,
      `${memory}/fifo.md`,
      `${memory}/folder.md`,
      undefined,
      null,
      5,
      [`${memory}/x.md`],
      { path: `${memory}/x.md` },
    ]
    expect(refused.filter((path) => mayWrite(world, path))).toEqual([])
    const asCwd = { memory, project: memory }
    expect(['~/x.md', `file://${memory}/x.md`].filter((path) => mayWrite(asCwd, path))).toEqual([])
  })

  it('refuses arguments that are not an object', async () => {
    const world = await agentWorld()
    for (const input of [undefined, null, 'file_path', [join(world.memory, 'x.md')], 5]) {
      expect(decideCall(world, 'write', input).reason).toContain('missing file_path')
    }
  })

  it('refuses a link in the memory directory, whatever it points to', async () => {
    const world = await agentWorld()
    const { memory } = world
    await symlink(join(memory, 'a.md'), join(memory, 'alias.md'))
    await symlink('/nowhere/x.md', join(memory, 'dangling.md'))
    await symlink('sub', join(memory, 'inner'))
    const names = ['alias.md', 'dangling.md', 'inner/a.md', 'inner/new.md', 'inner/../a.md']
    expect(names.filter((name) => mayWrite(world, `${memory}/${name}`))).toEqual([])
  })

  it('refuses a path that leads elsewhere when it is normalised first', async () => {
    const world = await agentWorld()
    const base = dirname(world.project)
    await symlink(join(world.memory, 'sub'), join(base, 'inside'))
    await symlink(world.memory, join(base, 'hooks'))
    expect(mayWrite(world, join(base, 'inside', 'x.md'))).toBe(true)
    expect(mayWrite(world, `${base}/inside/../x.md`)).toBe(false)
    expect(mayWrite(world, `${base}/inside/../hooks/x.md`)).toBe(false)
  })

  it('accepts both spellings when the home is a link, for writing and for rm', async () => {
    const world = await agentWorld()
    const link = join(dirname(world.home), 'link')
    await symlink(world.home, link)
    const printed = world.memory.replace(world.home, link)
    for (const memory of [printed, world.memory]) {
      for (const path of [printed, world.memory]) {
        const spelled = { memory, project: world.project }
        expect(mayWrite(spelled, join(path, 'new.md'))).toBe(true)
        expect(decideCall(spelled, 'bash', { command: `rm -f ${path}/a.md` }).allowed).toBe(true)
        expect(mayWrite(spelled, join(path, '../new.md'))).toBe(false)
      }
    }
    const input = { rootDir: printed, workingDirectory: '/', workspaceRoot: '/' }
    const filePath = join(printed, 'sub/../new.md')
    expect(resolveContainedMemoryFilePath({ ...input, filePath })).toBe(join(printed, 'new.md'))
    expect(resolveContainedMemoryFilePath({ ...input, filePath: printed })).toBeUndefined()
    expect(isContainedMarkdownMutation({ ...input, filePath })).toBe(true)
  })

  it('accepts a memories folder that is a link, and none from projects down', async () => {
    const world = await agentWorld()
    const path = join(world.memory, 'x.md')
    const parts = ['memories', 'memories/projects', 'memories/projects/shop-1']
    for (const [part, allowed] of [
      [parts[0], true],
      [parts[1], false],
      [parts[2], false],
      ['memories/projects/shop-1/memory', false],
    ] as const) {
      const place = join(world.home, part ?? '')
      await rename(place, `${world.home}-moved`)
      await symlink(`${world.home}-moved`, place)
      expect(`${part} ${mayWrite(world, path)}`).toBe(`${part} ${allowed}`)
      await rm(place)
      await rename(`${world.home}-moved`, place)
      expect(mayWrite(world, path)).toBe(true)
    }
  })

  it('works before the memory directory exists', async () => {
    const world = await agentWorld()
    await rm(join(world.home, 'memories'), { recursive: true })
    expect(mayWrite(world, join(world.memory, 'x.md'))).toBe(true)
    expect(mayWrite(world, join(world.memory, '../x.md'))).toBe(false)
    expect(isPlainMemoryDirectory(world.memory)).toBe(false)
  })

  it('tells a plain directory from a link and a file', async () => {
    const world = await agentWorld()
    await writeFile(join(world.home, 'file'), '')
    expect(isPlainMemoryDirectory(world.memory)).toBe(true)
    expect(isPlainMemoryDirectory(join(world.memory, 'link'))).toBe(false)
    expect(isPlainMemoryDirectory(join(world.home, 'file'))).toBe(false)
    expect(isPlainMemoryDirectory('a\0b')).toBe(false)
  })
})
