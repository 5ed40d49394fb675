import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The built program. */
export const CLI_PATH = fileURLToPath(new URL('../../lib/cli.js', import.meta.url))

/** How a process ended. */
export interface EndedProcess {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

/**
 * Run a script with this Node to its end.
 * @param env - the whole environment besides `PATH`.
 */
export function runScript(
  path: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<EndedProcess> {
  const child = spawn(process.execPath, [path, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      resolve({ code, signal, out, err })
    })
  })
}
