/**
 * The command `/memory` as the host sees it.
 *
 * Role: registers it where there is a command service, and only there, and takes
 * it away with the plugin. Light enough for the start-up path; what a call does
 * is loaded at the first one. The host shows the result and gives nothing of it
 * to the model.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-commands'
import type { ResolvedConfig } from '../config.ts'
import type { SessionMemory } from '../session/session-memory.ts'
import type { MemoryStores } from '../tools/stores.ts'
import type { Language } from './language.ts'
import { languageOf, localesOfEnvironment } from './language.ts'

/** Name of the command, without its slash. */
export const MEMORY_COMMAND_NAME = 'memory'

/** What the menu says, in the language at the time of registration. */
const DESCRIPTIONS: Readonly<Record<Language, string>> = {
  en: 'Show and tend the memory of this project',
  zh: '查看和整理本项目的记忆',
}

/** What may follow the name. */
const INPUT_HINT =
  '[list | show NAME | search WORDS | forget NAME | undo | why | doctor [fix] | where]'

/** What comes in by the door. */
export interface MemoryCommandOptions {
  config: ResolvedConfig
  /** The memory of live sessions, made on first need. */
  memory: () => SessionMemory
  /** The stores of this plugin, made on first need. */
  stores: () => Promise<MemoryStores>
}

/** The part of the host's settings service that is asked. */
interface SettingsService {
  get(namespace: string): unknown
}

/**
 * The language that the person chose in the host, else that of the environment.
 * A browser's own language, which decides when nothing was chosen, is not known here.
 */
function hostLanguage(ctx: Context): Language {
  return languageOf([chosenLocale(ctx), ...localesOfEnvironment(process.env)])
}

function chosenLocale(ctx: Context): string | undefined {
  try {
    const settings = ctx.get('settings' as never) as SettingsService | undefined
    const { preference } = (settings?.get('locale') ?? {}) as { preference?: unknown }
    return typeof preference === 'string' ? preference : undefined
  } catch {
    // A host with other settings; the environment decides.
    return undefined
  }
}

/**
 * Mount the command for as long as the host has a command service.
 * @param ctx - the plugin's context.
 * @param options - see {@link MemoryCommandOptions}.
 */
export function mountMemoryCommand(ctx: Context, options: MemoryCommandOptions): void {
  ctx.inject(['commands'], (scope) => {
    scope.commands.register({
      name: MEMORY_COMMAND_NAME,
      description: DESCRIPTIONS[hostLanguage(ctx)],
      input: { hint: INPUT_HINT },
      async handler({ agent, rawInput, signal }) {
        const { runMemoryCommand } = await import('./memory-run.ts')
        return runMemoryCommand({
          agent,
          rawInput,
          signal,
          language: hostLanguage(ctx),
          ...options,
        })
      },
    })
  })
}
