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

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
const io: ShellIo = {
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  systemLocale: Intl.DateTimeFormat().resolvedOptions().locale,
  version,
  now: () => new Date(),
  isTerminal: process.stdout.isTTY,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
}
try {
  process.exitCode = await runCli(process.argv.slice(2), io)
} catch (error) {
  // A mistake of ours: its stack helps to report it.
  console.error(error)
  process.exitCode = 3
}
