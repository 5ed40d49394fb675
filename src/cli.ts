#!/usr/bin/env node
/**
 * The program `dsh-zcode-project-memory`.
 *
 * Role: hands the process's surroundings to `runCli` and sets the exit code.
 */
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import type { ShellIo } from './commands/shell.ts'
import { runCli } from './commands/shell.ts'

/** End with one line for what is no mistake of ours. */
function give(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = 3
}

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') give(`The output cannot be written (${code ?? 'unexpected error'}).`)
})

/** @returns the current directory; `undefined` when it was removed. */
function currentDirectory(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}

const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
const cwd = currentDirectory()
const io: Omit<ShellIo, 'cwd'> = {
  env: process.env,
  home: homedir(),
  systemLocale: Intl.DateTimeFormat().resolvedOptions().locale,
  version,
  now: () => new Date(),
  isTerminal: process.stdout.isTTY,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
}
try {
  if (cwd === undefined) give('The current directory is not there any more; change to another one.')
  else process.exitCode = await runCli(process.argv.slice(2), { ...io, cwd })
} catch (error) {
  // A mistake of ours: its stack helps to report it.
  console.error(error)
  process.exitCode = 3
}
