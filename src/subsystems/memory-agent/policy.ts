/**
 * Which tool calls of the memory agent may run.
 *
 * Role: one synchronous decision per call, from the arguments and what is on
 * disk now. It executes nothing. The rules stand in a fixed order, the first
 * that matches decides, and the last refuses: a tool nobody thought of here is
 * refused even if it declares that it only reads. Reading is not limited to the
 * memory directory (the reference's rule); only kernel file systems are kept
 * from the shell.
 */
import { isAbsolute } from 'node:path'
import {
  assertAbsoluteDirectories,
  isSafeMemoryMarkdown,
  type MemoryDirectories,
  type MemoryPathInput,
} from './paths.ts'
import { READ_ONLY_BASH_COMMANDS } from './shell-commands.ts'
import { parsePipe, problemOfPipe } from './shell-grammar.ts'
import { problemOfRemoval } from './shell-removal.ts'
import { refusedCommandText, refusedToolText, unavailableToolText } from './texts.ts'

/** Tools that read; allowed with any arguments. */
export const MEMORY_AGENT_READ_ONLY_TOOLS: readonly string[] = Object.freeze([
  'read',
  'grep',
  'glob',
])

/** Tools that write one file, named by `file_path`. */
export const MEMORY_AGENT_WRITE_TOOLS: readonly string[] = Object.freeze(['write', 'edit'])

/** Tools that run a shell command, named by `command`. */
export const MEMORY_AGENT_SHELL_TOOLS: readonly string[] = Object.freeze(['bash'])

/** Arguments of the shell tool that change nothing about what runs; `workdir` is judged too. */
const SHELL_ARGUMENTS: ReadonlySet<string> = new Set(
  'command description timeout timeoutMs run_in_background workdir'.split(' '),
)

/** The answer to one call; `reason` is what the model gets to read. */
export type MemoryAgentDecision = { allowed: true } | { allowed: false; reason: string }

/** An offered tool: its declaration, or just its name. */
export type MemoryAgentTool = string | { readonly name: string }

/** What {@link evaluateMemoryAgentToolPolicy} takes. */
export interface MemoryAgentPolicyInput extends MemoryDirectories {
  toolCall: { readonly name: unknown; readonly input: unknown }
  /** The list that was offered to the model. */
  tools: readonly MemoryAgentTool[]
  /** `PATH` of the shell that would run; default that of this process. */
  searchPath?: string
}

/** What {@link isContainedMarkdownBashRemoval} takes. */
export interface MemoryRemovalInput extends MemoryDirectories {
  command: unknown
}

/**
 * Decides about one call. Reads the disk, changes nothing.
 * @returns for a refusal a text that names what is allowed and where.
 * @throws TypeError when a directory is not absolute.
 */
export function evaluateMemoryAgentToolPolicy(input: MemoryAgentPolicyInput): MemoryAgentDecision {
  assertAbsoluteDirectories(input)
  const { rootDir, toolCall } = input
  const name = typeof toolCall.name === 'string' ? toolCall.name : ''
  const tool = input.tools.find((offered) => nameOf(offered) === name)
  if (tool === undefined || !isOfferedTool(input.tools, name)) return denyUnavailableTool(name)
  if (name === 'Agent' || name.startsWith('mcp__') || reachesNetwork(tool)) {
    return denyMemoryAgentTool(rootDir, `${name} is not for the memory agent`)
  }
  const args = argumentsOf(toolCall.input)
  if (MEMORY_AGENT_WRITE_TOOLS.includes(name)) {
    if (isContainedMarkdownMutation({ ...input, filePath: args['file_path'] })) return ALLOWED
    const given = typeof args['file_path'] === 'string' ? args['file_path'] : 'a missing file_path'
    return denyMemoryAgentTool(rootDir, `${given} is not a memory file that may be written`)
  }
  if (MEMORY_AGENT_SHELL_TOOLS.includes(name)) {
    const problem = problemOfShellCall(args, input)
    return problem === undefined ? ALLOWED : denyMemoryAgentBash(rootDir, problem)
  }
  if (MEMORY_AGENT_READ_ONLY_TOOLS.includes(name)) return ALLOWED
  return denyMemoryAgentTool(rootDir, `${name} is not for the memory agent`)
}

/**
 * @param tools - the list that was offered to the model.
 * @param name - compared exactly: case and blanks count.
 */
export function isOfferedTool(tools: readonly MemoryAgentTool[], name: string): boolean {
  return name !== '' && tools.some((tool) => nameOf(tool) === name)
}

/**
 * @returns whether writing this path changes a memory file and nothing else.
 * @throws TypeError when a directory is not absolute.
 */
export function isContainedMarkdownMutation(input: MemoryPathInput): boolean {
  return (
    typeof input.filePath === 'string' &&
    input.filePath.endsWith('.md') &&
    isSafeMemoryMarkdown(input)
  )
}

/**
 * @returns whether the command is one `rm` of memory files and nothing else.
 * @throws TypeError when a directory is not absolute.
 */
export function isContainedMarkdownBashRemoval(input: MemoryRemovalInput): boolean {
  assertAbsoluteDirectories(input)
  if (typeof input.command !== 'string') return false
  const parsed = parsePipe(input.command)
  if ('problem' in parsed || parsed.stages[0]?.name !== 'rm') return false
  return problemOfRemoval(parsed.stages, input) === undefined
}

/** @returns the refusal of any tool but the shell; see `texts.ts` for `problem`. */
export function denyMemoryAgentTool(rootDir: string, problem?: string): MemoryAgentRefusal {
  return { allowed: false, reason: refusedToolText(rootDir, problem) }
}

/** @returns the refusal of a shell command; see `texts.ts` for `problem`. */
export function denyMemoryAgentBash(rootDir: string, problem?: string): MemoryAgentRefusal {
  return { allowed: false, reason: refusedCommandText(rootDir, READ_ONLY_BASH_COMMANDS, problem) }
}

/** @returns the refusal of a tool that was not offered. */
export function denyUnavailableTool(name: string): MemoryAgentRefusal {
  return { allowed: false, reason: unavailableToolText(name) }
}

/** A {@link MemoryAgentDecision} that says no. */
export type MemoryAgentRefusal = Extract<MemoryAgentDecision, { allowed: false }>

const ALLOWED: MemoryAgentDecision = Object.freeze({ allowed: true })

function problemOfShellCall(
  args: Readonly<Record<string, unknown>>,
  input: MemoryAgentPolicyInput,
): string | undefined {
  const unknown = Object.keys(args).find((key) => !SHELL_ARGUMENTS.has(key))
  if (unknown !== undefined) return `the argument ${unknown} is not allowed`
  const { command, workdir = input.workingDirectory } = args
  if (typeof command !== 'string') return 'the argument command must be a text'
  if (typeof workdir !== 'string' || !isAbsolute(workdir)) {
    return 'the argument workdir must be an absolute path'
  }
  if (!isAbsoluteSearchPath(input.searchPath ?? process.env['PATH'])) {
    return 'PATH holds a folder that is not absolute'
  }
  const parsed = parsePipe(command)
  if ('problem' in parsed) return parsed.problem
  return parsed.stages[0]?.name === 'rm'
    ? problemOfRemoval(parsed.stages, input)
    : problemOfPipe(parsed.stages, workdir)
}

/** With a relative folder in `PATH` a file of the project could run as `ls`. */
function isAbsoluteSearchPath(searchPath: string | undefined): boolean {
  if (searchPath === undefined || process.platform === 'win32') return true
  return searchPath.split(':').every((folder) => folder.startsWith('/'))
}

function nameOf(tool: MemoryAgentTool): unknown {
  return typeof tool === 'string' ? tool : argumentsOf(tool)['name']
}

/** Own properties of the arguments; anything but an object has none. */
function argumentsOf(input: unknown): Readonly<Record<string, unknown>> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return {}
  return { ...input }
}

/**
 * Whether the declaration says that the tool goes to the network. The scope is
 * looked for at the top and in a `contract`, as a text or as `{ scope }`.
 */
function reachesNetwork(tool: MemoryAgentTool): boolean {
  const holders = [argumentsOf(tool), argumentsOf(argumentsOf(tool)['contract'])]
  return holders.some((holder) =>
    ['sideEffectScope', 'sideEffect', 'sideEffects'].some((key) => {
      const value = holder[key]
      return value === 'network' || argumentsOf(value)['scope'] === 'network'
    }),
  )
}
