import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const FIXTURE = fileURLToPath(new URL('../process/fixtures/change-memory.mjs', import.meta.url))

/** One change of a process. */
export interface Step {
  kind: 'save' | 'forget' | 'purge' | 'undo'
  key: string
  version: number
}

/** A line that a process says. */
export interface Said {
  ready?: true
  started?: Step
  done?: Step
  refused?: Step
  at?: string
  hasReconciled?: boolean
}

/** A process that changes a memory. */
export interface ChangeProcess {
  child: ChildProcess
  /** What it has said so far. */
  said: Said[]
  /** Resolves with the first line that fits; rejects when the process ends without one. */
  says: (fits: (line: Said) => boolean) => Promise<Said>
  /** Resolves with the signal or the exit code and what was on stderr. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>
}

/** Start a process on the memory below a home. */
export function startChanging(
  home: string,
  mode: 'churn' | 'point' | 'saves',
  options: object,
): ChangeProcess {
  const child = spawn(process.execPath, [FIXTURE, mode, JSON.stringify(options)], {
    env: { ...process.env, DSH_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Said[] = []
  const waiting = new Set<() => void>()
  let errors = ''
  let isOver = false
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(JSON.parse(line) as Said)
    for (const look of waiting) look()
  })
  const ended = new Promise<Awaited<ChangeProcess['ended']>>((resolve) => {
    child.on('close', (code, signal) => {
      isOver = true
      for (const look of waiting) look()
      resolve({ code, signal, errors })
    })
  })
  const says = (fits: (line: Said) => boolean): Promise<Said> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const line = said.find(fits)
        if (line === undefined && !isOver) return
        waiting.delete(look)
        if (line === undefined) reject(new Error(`the process ended: ${errors}`))
        else resolve(line)
      }
      waiting.add(look)
      look()
    })
  return { child, said, says, ended }
}
