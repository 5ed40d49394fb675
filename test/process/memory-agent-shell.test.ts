import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ALLOWED_COMMANDS } from '../support/memory-agent-allowed.ts'
import { agentWorld, allowsCommand, decideCall } from '../support/memory-agent-world.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a command as the host does: without an input, so that bash reads no start-up file. */
function bash(command: string, cwd: string, env: NodeJS.ProcessEnv = process.env) {
  return spawnSync('bash', ['-c', command], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 5000,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Prints the URL of every module that is resolved after it was registered. */
const HOOKS = `import { writeSync } from 'node:fs'
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  writeSync(1, resolved.url + '\\n')
  return resolved
}`
const asUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
const REGISTER = `import { register } from 'node:module'; register(${JSON.stringify(asUrl(HOOKS))})`

test.each(['subsystems/memory-agent', 'src/subsystems/summarization.js'])(
  '%s loads only its own modules and builtins, and the process ends by itself',
  async (path) => {
    const code = `import ${JSON.stringify(`dsh-zcode-project-memory/${path}`)}`
    const args = ['--import', asUrl(REGISTER), '--input-type=module', '-e', code]
    const { stdout, stderr } = await run(process.execPath, args, { cwd: root })
    expect(stderr).toBe('')
    const urls = stdout.split('\n').filter((line) => /^(?:file|node):/u.test(line))
    expect(urls.some((url) => url.endsWith('/lib/subsystems/memory-agent/index.js'))).toBe(true)
    const foreign = urls.filter((url) => !url.includes('/lib/subsystems/memory-agent/'))
    expect(foreign.filter((url) => !url.startsWith('node:'))).toEqual([])
    expect(foreign).not.toContain('node:child_process')
  },
)

test('a script for the original module runs the loop and asks the policy in a bare node -e', async () => {
  const { memory, project } = await agentWorld()
  const code = `
    const { runMemoryAgentLoop, evaluateMemoryAgentToolPolicy } =
      await import('dsh-zcode-project-memory/src/subsystems/summarization.js')
    const places = { rootDir: ${JSON.stringify(memory)}, workingDirectory: ${JSON.stringify(project)}, workspaceRoot: ${JSON.stringify(project)} }
    const tools = [{ name: 'read' }, { name: 'bash' }]
    const toolCall = { name: 'bash', input: { command: 'sed -i x f' } }
    const { allowed, reason } = evaluateMemoryAgentToolPolicy({ ...places, tools, toolCall })
    const answers = [{ text: '', toolCalls: [{ id: 'a', name: 'read', input: '{}' }] }, { text: 'done' }]
    const { messages, turns } = await runMemoryAgentLoop({
      ...places, tools, maxTurns: 5, messages: [{ role: 'user', content: 'go' }],
      model: { generateText: async () => answers.shift() },
      executeTool: async (call, { abortSignal }) => ({ content: call.name + abortSignal.aborted }),
    })
    console.log(JSON.stringify({ allowed, named: reason.includes(places.rootDir), turns, messages }))`
  const { stdout } = await run(process.execPath, ['-e', `(async () => {${code}})()`], { cwd: root })
  expect(JSON.parse(stdout)).toMatchObject({
    allowed: false,
    named: true,
    turns: 2,
    messages: [
      { role: 'user' },
      { role: 'assistant', toolCalls: [{ id: 'a' }] },
      { role: 'tool', toolCallId: 'a', toolName: 'read', content: 'readfalse', isError: false },
      { role: 'assistant', content: 'done' },
    ],
  })
})

test('every command that is meant to be usable works under bash and leaves nothing', async () => {
  const { memory, project } = await agentWorld()
  await writeFile(join(project, '部署.md'), '')
  const before = await readdir(project, { recursive: true })
  for (const command of ALLOWED_COMMANDS) {
    const { status, signal, stderr } = bash(command, project)
    // grep's 1 means that nothing was found.
    expect({ command, signal, stderr, found: (status ?? 2) < 2 }).toEqual({
      command,
      signal: null,
      stderr: '',
      found: true,
    })
  }
  expect(await readdir(project, { recursive: true })).toEqual(before)
  expect(await readdir(memory)).toContain('a.md')
})

test('rm removes the memory and leaves its neighbours', async () => {
  const { memory, project } = await agentWorld()
  const command = `rm -f "${memory}/a b.md" ${memory}/sub/a.md`
  expect(allowsCommand({ memory, project }, command)).toBe(true)
  bash(command, project)
  expect(await readdir(memory)).toEqual(['.trash', 'MEMORY.md', 'a.md', 'b.md', 'link', 'sub'])
  expect(await readdir(join(memory, 'sub'))).toEqual([])
})

test('a program of the project that is called like a command is not run', async () => {
  const { memory, project } = await agentWorld()
  for (const name of ['ls', 'git', 'cat']) {
    await writeFile(join(project, name), '#!/bin/sh\ntouch PWNED\n')
    await chmod(join(project, name), 0o755)
  }
  const commands = ['ls', 'cat f', './ls', './git status', '../bin/ls', 'git status', 'ls | cat']
  for (const PATH of [`.${delimiter}${process.env['PATH']}`, process.env['PATH'] ?? '']) {
    for (const command of commands) {
      const { allowed } = decideCall({ memory, project }, 'bash', { command }, { searchPath: PATH })
      if (allowed) bash(command, project, { PATH })
    }
  }
  expect(await readdir(project)).not.toContain('PWNED')
})

test('under a home that is a link the agent writes and removes by either spelling', async () => {
  const { home, memory, project } = await agentWorld()
  const link = join(dirname(home), 'link')
  await symlink(home, link)
  const printed = memory.replace(home, link)
  for (const [index, spelling] of [printed, memory].entries()) {
    const world = { memory: printed, project }
    const file_path = join(spelling, 'notes', `${index}.md`)
    expect(decideCall(world, 'write', { file_path, content: '' }).allowed).toBe(true)
    await mkdir(dirname(file_path), { recursive: true })
    await writeFile(file_path, 'x')
    const command = `rm ${file_path}`
    expect(allowsCommand(world, command)).toBe(true)
    expect(bash(command, project).status).toBe(0)
  }
  expect(await readdir(join(memory, 'notes'))).toEqual([])
})
