/**
 * Loading our own modules on first need, without awaiting.
 *
 * Role: importing the plugin is on the host's start-up path, but the host's
 * session-start event and prompt providers are synchronous, so the modules that
 * read and render the index are required (Node can require ES modules from
 * 20.19 on) when the first session needs them. What is needed inside an async
 * function uses `import()` instead.
 */
import { createRequire } from 'node:module'
import type * as SessionMemoryModule from './session/session-memory.ts'

const requireModule = createRequire(import.meta.url)

/** `.js` in the built package. */
const EXTENSION = import.meta.url.slice(import.meta.url.lastIndexOf('.'))

/** @returns the module that gives sessions their texts. */
export function loadSessionMemory(): typeof SessionMemoryModule {
  return requireModule(`./session/session-memory${EXTENSION}`) as typeof SessionMemoryModule
}
