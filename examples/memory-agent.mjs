/**
 * Runs the memory agent's loop against a scripted model that saves one memory. One of its
 * calls is refused, the loop goes on.
 *
 * Run: `node examples/memory-agent.mjs`, after `npm run build`. The memory folder is a
 * temporary one and is removed again.
 */
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { runMemoryAgentLoop } from 'dsh-zcode-project-memory/subsystems/memory-agent'

const rootDir = await realpath(await mkdtemp(join(tmpdir(), 'memory-example-')))
const memoryFile = join(rootDir, 'release-day.md')

/** A real one would send `messages` and `tools` to a language model. */
const answers = [
  {
    text: 'Looking for what is already known.',
    toolCalls: [
      { id: '1', name: 'bash', input: { command: `ls ${rootDir}`, description: 'List memories' } },
      { id: '2', name: 'bash', input: { command: 'git log', description: 'Show history' } },
    ],
  },
  {
    text: 'Saving the rule.',
    toolCalls: [
      { id: '3', name: 'write', input: { file_path: memoryFile, content: 'Never on Fridays.\n' } },
      {
        id: '4',
        name: 'write',
        input: JSON.stringify({
          file_path: join(rootDir, 'MEMORY.md'),
          content: '- [Release day](release-day.md) — Never on Fridays.\n',
        }),
      },
    ],
  },
  { text: 'Saved the release day.' },
]
const model = { generateText: async () => answers.shift() ?? { text: '' } }

/** A real one would hand the call to the host's tools; the policy has already allowed it. */
async function executeTool({ name, input }) {
  if (name !== 'write') return ''
  await writeFile(input.file_path, input.content)
  return `Wrote ${input.file_path}`
}

try {
  const { messages, turns } = await runMemoryAgentLoop({
    model,
    tools: ['read', 'grep', 'glob', 'write', 'edit', 'bash'],
    executeTool,
    messages: [{ role: 'user', content: 'Releases go out on Thursdays, never on Fridays.' }],
    maxTurns: 5,
    rootDir,
    workingDirectory: process.cwd(),
    workspaceRoot: process.cwd(),
  })
  const results = messages.filter((message) => message.role === 'tool')
  console.log(
    JSON.stringify({
      subsystem: 'memory-agent',
      turns,
      refused: results.filter((result) => result.isError).map((result) => result.toolCallId),
      saved: basename(memoryFile),
      content: await readFile(memoryFile, 'utf8'),
      answer: messages.at(-1).content,
    }),
  )
} finally {
  await rm(rootDir, { recursive: true, force: true })
}
