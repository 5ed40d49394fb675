/**
 * Starts a child process, keeps its output and ends it by its own pid when its time is over.
 *
 * No process group is made: an interrupt at the terminal reaches the child as well, and the host
 * ends its own children when it is told to stop.
 */
import { spawn } from 'node:child_process'

/** The host gives its plugins 5 s to let go before it exits; a second more is for the rest. */
const GRACE_MS = 6_000

/**
 * @typedef {object} Ended
 * @property {number | null} code null when a signal ended it.
 * @property {string | null} signal
 * @property {string} stdout
 * @property {string} stderr
 * @property {boolean} timedOut
 */

/**
 * Runs a program to its end.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, onLine?: (line: string) => void }} [options]
 * `onLine` gets each complete line of both streams as it arrives.
 * @returns {Promise<Ended>} also for a non-zero code.
 * @throws {Error} when the program cannot be started.
 */
export function runProcess(command, args, options = {}) {
  return startProcess(command, args, options).ended
}

/**
 * Starts a program.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number, ipc?: boolean, onLine?: (line: string) => void }} [options]
 * @returns {{ child: import('node:child_process').ChildProcess, ended: Promise<Ended>, stop: () => void }}
 * `stop` asks with SIGTERM, and after the grace time ends it with SIGKILL.
 */
export function startProcess(command, args, options = {}) {
  const { cwd, env, timeoutMs, ipc = false, onLine } = options
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? [/** @type {const} */ ('ipc')] : [])],
  })
  const stdout = collect(child.stdout, onLine)
  const stderr = collect(child.stderr, onLine)
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let killTimer
  let timedOut = false
  const stop = () => {
    if (killTimer !== undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    killTimer = setTimeout(() => {
      child.kill('SIGKILL')
      // A grandchild may have inherited the pipes and would keep `close` from coming.
      child.stdout?.destroy()
      child.stderr?.destroy()
    }, GRACE_MS)
  }
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true
          stop()
        }, timeoutMs)
  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer)
      clearTimeout(killTimer)
    }
    child.on('error', (error) => {
      settle()
      reject(error)
    })
    child.on('close', (code, signal) => {
      settle()
      resolve({ code, signal, stdout: stdout(), stderr: stderr(), timedOut })
    })
  })
  return { child, ended, stop }
}

/**
 * @param {import('node:child_process').ChildProcess['stdout']} stream
 * @param {((line: string) => void) | undefined} onLine
 * @returns {() => string} everything that arrived so far.
 */
function collect(stream, onLine) {
  let text = ''
  let told = 0
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk) => {
    text += chunk
    if (onLine === undefined) return
    for (let end = text.indexOf('\n', told); end !== -1; end = text.indexOf('\n', told)) {
      onLine(text.slice(told, end))
      told = end + 1
    }
  })
  return () => text
}
