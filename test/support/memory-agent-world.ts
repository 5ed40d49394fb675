import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { evaluateMemoryAgentToolPolicy } from '../../src/subsystems/memory-agent/index.ts'
import { temporaryDirectory } from './temp-directory.ts'

/** Directories of one test: a home with a memory directory in it, and a project beside it. */
export interface AgentWorld {
  home: string
  memory: string
  project: string
}

export const HOST_TOOLS = ['read', 'grep', 'glob', 'write', 'edit', 'bash']

/**
 * `<tmp>/home/memories/projects/shop-1/memory` with `a.md`, `b.md`, `sub/a.md`,
 * `MEMORY.md`, and `link` to a folder outside; `<tmp>/project` with some files.
 * @returns real paths, removed when the test ends.
 */
export async function agentWorld(): Promise<AgentWorld> {
  const base = await realpath(await temporaryDirectory())
  const home = join(base, 'home')
  const memory = join(home, 'memories', 'projects', 'shop-1', 'memory')
  const project = join(base, 'project')
  await mkdir(join(memory, 'sub'), { recursive: true })
  await mkdir(join(memory, '.trash'))
  await mkdir(join(base, 'outside'))
  await mkdir(join(project, 'src'), { recursive: true })
  await mkdir(join(project, 'dir'))
  for (const name of ['a.md', 'b.md', 'a b.md', 'sub/a.md', 'MEMORY.md', '.trash/old.md']) {
    await writeFile(join(memory, name), 'memory\n')
  }
  await writeFile(join(base, 'outside', 'x.md'), 'outside\n')
  await symlink(join(base, 'outside'), join(memory, 'link'))
  for (const name of ['f', 'a.md', 'src/code.ts']) {
    await writeFile(join(project, name), 'staging => a;b\n')
  }
  return { home, memory, project }
}

/** @returns the policy's answer to one call with the host's tool names offered. */
export function decideCall(
  world: Pick<AgentWorld, 'memory' | 'project'>,
  name: string,
  input: unknown,
  more: { tools?: readonly (string | { name: string })[]; searchPath?: string } = {},
): { allowed: boolean; reason?: string } {
  return evaluateMemoryAgentToolPolicy({
    rootDir: world.memory,
    workingDirectory: world.project,
    workspaceRoot: world.project,
    toolCall: { name, input },
    tools: HOST_TOOLS,
    ...more,
  })
}

/** @returns whether the shell command may run in the project. */
export function allowsCommand(
  world: Pick<AgentWorld, 'memory' | 'project'>,
  command: unknown,
): boolean {
  return decideCall(world, 'bash', { command }).allowed
}
