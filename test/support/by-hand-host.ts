/**
 * Sessions of the real host whose model changes memory files with the host's own tools.
 */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callTool, type ModelAnswer } from './host/index.mjs'
import { type MemoryHost, memoryPaths } from './memory-host.ts'

/** The index of a fresh project. */
export const INDEX = '- [A](a.md) — first\n- [C](c.md) — third\n'

/** A memory file without an origin. */
export const FILE = '---\nname: d\ndescription: A rule.\nmetadata:\n  type: project\n---\n\nBody.\n'

/** The text of the host's sandbox. */
export const DENIED = /\[sandbox: file access denied under [a-z-]+ mode\]/

/** The arguments of a second try. */
export const ESCALATION = {
  sandbox_permissions: 'danger-full-access',
  justification: 'The user wants this kept.',
}

/** One project with a memory, and a session in it. */
export interface HandProject {
  session: string
  cwd: string
  root: string
  at: (name: string) => string
  read: (name: string) => Promise<string>
  /** Names in the memory directory, hidden ones left out. */
  names: () => Promise<string[]>
  write: (name: string, content: string, more?: object) => ModelAnswer
  edit: (name: string, from: string, to: string, more?: object) => ModelAnswer
  rm: (...words: string[]) => ModelAnswer
  /** One turn that makes these calls, one after the other; what each of them answered. */
  calls: (...answers: ModelAnswer[]) => Promise<{ isError: boolean; result: string }[]>
  /** Questions and answers in the session's log, oldest first. */
  approvals: () => Promise<string[]>
}

/** Make a project with an index of two memories, and begin a session in it. */
export async function handProject(memory: MemoryHost, name: string): Promise<HandProject> {
  const cwd = await memory.home.project(name)
  const { root } = memoryPaths(memory.home, cwd)
  const at = (file: string): string => join(root, file)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const files = { 'MEMORY.md': INDEX, 'a.md': 'A\n', 'c.md': 'C\n' }
  for (const [file, content] of Object.entries(files)) await writeFile(at(file), content)
  return handSession(memory, name)
}

/** Begin a session in a project as it is. */
export async function handSession(memory: MemoryHost, name: string): Promise<HandProject> {
  const session = await memory.session(name)
  const cwd = await memory.home.project(name)
  const { root } = memoryPaths(memory.home, cwd)
  const at = (file: string): string => join(root, file)
  return {
    session,
    cwd,
    root,
    at,
    read: (file) => readFile(at(file), 'utf8'),
    names: async () => (await readdir(root)).filter((file) => !file.startsWith('.')).sort(),
    write: (file, content, more = {}) =>
      callTool('write', { file_path: at(file), content, ...more }),
    edit: (file, from, to, more = {}) =>
      callTool('edit', { file_path: at(file), old_string: from, new_string: to, ...more }),
    rm: (...words) =>
      callTool('bash', { command: ['rm', ...words].join(' '), description: 'remove' }),
    calls: async (...answers) => (await memory.turn(session, ...answers)).toolCalls,
    approvals: async () => {
      const events = await memory.host.events(session)
      return events.flatMap(({ data, type }) => {
        const { outcome, reason } = data as { outcome?: string; reason?: string }
        return ['approval/asked', 'approval/decided'].includes(type)
          ? [outcome ?? reason ?? '']
          : []
      })
    },
  }
}
