/**
 * What the tools of this plugin have in common.
 *
 * Role: the values that come in by the door of each tool. No behaviour.
 */
import type { ResolvedConfig } from '../config.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { CallerFacts } from './refusal.ts'
import type { MemoryStores } from './stores.ts'

/** What comes in by the door. */
export interface MemoryToolOptions {
  config: ResolvedConfig
  /** The stores of this plugin, made on first need. */
  stores: () => Promise<MemoryStores>
  /** @param agent - the host's calling agent, or `undefined` outside a session. */
  callerOf: (agent: unknown) => CallerFacts
  /**
   * Run a change of the index so that a session that has read it may go on editing it.
   * Without it a session has to read the index again.
   */
  keepIndexObserved?:
    | (<T extends { fileName: string }>(
        agent: unknown,
        project: ProjectMemoryPaths,
        change: () => Promise<T>,
      ) => Promise<T>)
    | undefined
}
