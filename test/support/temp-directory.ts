import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * A fresh real directory, removed when the running test ends.
 * @returns its absolute path.
 */
export async function temporaryDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'project-memory-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
