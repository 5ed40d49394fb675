import { rm } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import type { Config } from '../../src/config.ts'
import { resolveConfig } from '../../src/config.ts'
import type { MemoryToolOptions } from '../../src/tools/memory-tool.ts'
import type { CallerFacts } from '../../src/tools/refusal.ts'
import { MemoryStores } from '../../src/tools/stores.ts'
import type { TestMemory } from './test-memory.ts'
import { testMemory } from './test-memory.ts'

/** The plugin's tools without a host: a memory, its stores, and who calls. */
export interface ToolWorld {
  memory: TestMemory
  stores: MemoryStores
  options: MemoryToolOptions
  /** May be changed by a test. */
  caller: CallerFacts
  exec: { agent: object; signal: AbortSignal }
  controller: AbortController
}

/** @returns tools of a main session in a project; nothing is on the disk. */
export async function toolWorld(config: Config = {}): Promise<ToolWorld> {
  const memory = await testMemory()
  const stores = new MemoryStores()
  const controller = new AbortController()
  const caller: CallerFacts = {
    project: memory.paths,
    isSubAgent: false,
    sandboxMode: 'workspace-write',
    sessionId: 'session-1',
  }
  const options = {
    config: resolveConfig(config),
    stores: () => Promise.resolve(stores),
    callerOf: () => caller,
  }
  onTestFinished(async () => {
    await rm(memory.lockPath, { recursive: true, force: true })
    await stores.close()
  })
  const exec = { agent: {}, signal: controller.signal }
  return { memory, stores, options, caller, exec, controller }
}

/** @returns the paths of what JSON would lose or change in a value; empty for lossless JSON. */
export function lossyParts(value: unknown, path = '$'): string[] {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return []
  if (typeof value === 'number') {
    return Number.isFinite(value) && !Object.is(value, -0) ? [] : [path]
  }
  if (typeof value !== 'object') return [path]
  if (Array.isArray(value)) return value.flatMap((item, at) => lossyParts(item, `${path}[${at}]`))
  if (Object.getPrototypeOf(value) !== Object.prototype) return [path]
  return Object.entries(value).flatMap(([key, item]) => lossyParts(item, `${path}.${key}`))
}
