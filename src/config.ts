/**
 * Configuration of the plugin row `project-memory`.
 *
 * Role: the schema that the host checks, and one step from what the host passes
 * to values without gaps. Schemastery lets unknown keys through in silence, so
 * they are refused here: a misspelt key must not look like it works.
 */
import z from '@deepseek-ai/schemastery'
import { MemoryError } from './errors.ts'
import type { IndexOverflow } from './types.ts'

/** All settings, each with a value. */
export interface ResolvedConfig {
  /** Most lines of the injected index. Default 200, the reference's limit. */
  indexLineLimit: number
  /** Most UTF-16 code units of the injected index. Default 25,000, the reference's limit. */
  indexCharacterLimit: number
  /** Most UTF-16 code units of one memory's content. Default 8,000. */
  maxMemoryChars: number
  /** What is shown of an index that does not fit. Default `recent`. */
  overflow: IndexOverflow
  /** When the index is read again: once per `session`, or after each `change`. Default `session`. */
  indexRefresh: 'session' | 'change'
  /** Whether sub-agents get the index and may save: `none` or `all`. Default `none`. */
  subagents: 'none' | 'all'
  /** Whether links in the project path are `resolved` or kept as `given`. Default `resolved`. */
  projectRoot: 'resolved' | 'given'
  /** Whether `forget_project_memory` is offered. Default true. */
  forgetTool: boolean
  /**
   * Whether the model's own `write`, `edit` and `rm` of a memory file are granted (`allow`, the
   * reference's rule) or asked of the user (`ask`) where the sandbox refuses them. Default `allow`.
   */
  memoryFileWrites: 'allow' | 'ask'
}

/** What a user may write in a patch row; every key is optional. */
export type Config = Partial<ResolvedConfig>

const positive = (): z<number> => z.natural().min(1)

const fields = {
  indexLineLimit: positive().default(200),
  indexCharacterLimit: positive().default(25_000),
  maxMemoryChars: positive().default(8_000),
  overflow: z.union(['recent', 'head'] as const).default('recent'),
  indexRefresh: z.union(['session', 'change'] as const).default('session'),
  subagents: z.union(['none', 'all'] as const).default('none'),
  projectRoot: z.union(['resolved', 'given'] as const).default('resolved'),
  forgetTool: z.boolean().default(true),
  memoryFileWrites: z.union(['allow', 'ask'] as const).default('allow'),
}

/** The schema; the host reports a wrong value with its key and does not start. */
export const Config: z<Config> = z.object(fields)

/**
 * Fill the gaps and refuse what is not known.
 * @param config - what the host passes; may be absent.
 * @throws MemoryError `INVALID_CONFIG` naming the first unknown key and the known ones; a wrong
 *   value throws the schema's own error, which names the key.
 */
export function resolveConfig(config: Config = {}): ResolvedConfig {
  const unknown = Object.keys(config).find((key) => !Object.hasOwn(fields, key))
  if (unknown !== undefined) {
    throw new MemoryError(
      'INVALID_CONFIG',
      `project-memory: unknown configuration key "${unknown}"; known keys: ${Object.keys(fields).join(', ')}`,
    )
  }
  return Config(config) as ResolvedConfig
}
