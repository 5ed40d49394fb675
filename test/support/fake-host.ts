import type { Context } from '@deepseek-ai/cordis'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { createRequire } from 'node:module'
import type * as Plugin from '../../src/index.ts'

/** The built package's entry, loaded by Node itself as the host does it. */
export const plugin = createRequire(import.meta.url)('../../lib/index.js') as typeof Plugin

/** A prompt text as it was registered. */
export interface RegisteredText {
  name: string
  order: number
  text: (context: { agent?: unknown; scope?: unknown }) => string
}

type Listener = (...args: never[]) => unknown

/**
 * The part of the host's context that the plugin uses, which keeps what is registered and can take
 * it all back. Optional services are those that are given.
 */
export class FakeHost {
  readonly tools: ToolDefinition[] = []
  readonly sections: RegisteredText[] = []
  readonly contexts: RegisteredText[] = []
  readonly variables = new Map<string, () => string>()
  readonly commands: { name: string }[] = []
  readonly listeners: { event: string; listener: Listener }[] = []
  readonly warnings: unknown[][] = []
  readonly context: Context
  readonly #disposers: (() => unknown)[] = []

  /** @param services - optional services by name, for instance `sandboxPolicy`. */
  constructor(services: Readonly<Record<string, unknown>> = {}) {
    const effect = (start: () => () => unknown): void => void this.#disposers.push(start())
    const systemPrompt = {
      section: (section: RegisteredText) => this.#add(this.sections, section),
      context: (context: RegisteredText) => this.#add(this.contexts, context),
      variable: (name: string, provider: () => string) => {
        this.variables.set(name, provider)
        this.#disposers.push(() => this.variables.delete(name))
      },
    }
    const commands = { register: (command: { name: string }) => this.#add(this.commands, command) }
    this.context = {
      tools: { register: (tool: ToolDefinition) => this.#add(this.tools, tool) },
      systemPrompt,
      effect,
      on: (event: string, listener: Listener) => this.#add(this.listeners, { event, listener }),
      get: (name: string) => services[name],
      inject: (names: string[], start: (scope: unknown) => void) => {
        if (names.every((name) => name === 'commands')) start({ commands })
      },
      logger: { warn: (...args: unknown[]) => void this.warnings.push(args) },
    } as unknown as Context
  }

  #add<T>(list: T[], item: T): void {
    list.push(item)
    this.#disposers.push(() => list.splice(list.indexOf(item), 1))
  }

  /** How many things of the plugin there are. */
  get size(): number {
    const { commands, contexts, listeners, sections, tools, variables } = this
    const lists = [commands, contexts, listeners, sections, tools]
    return lists.reduce((sum, list) => sum + list.length, variables.size)
  }

  /** Tell every listener of an event. */
  emit(event: string, ...args: unknown[]): void {
    for (const { event: name, listener } of this.listeners) {
      if (name === event) (listener as (...args: unknown[]) => unknown)(...args)
    }
  }

  /** Unload: what was registered last goes first; resolves when all is gone. */
  async dispose(): Promise<void> {
    for (const disposer of this.#disposers.splice(0).reverse()) await disposer()
  }
}
