/**
 * The plugin that takes the place of the one-shot runner: it does what the parent process asks.
 *
 * Requests and replies travel over the IPC channel of the process, so a test can look at files and
 * at the model between two turns. Nothing of the host is imported here: the row is loaded straight
 * from this repository, where no host package can be resolved.
 */
import { createOperations } from './operations.mjs'

export const name = 'project-memory-host-driver'
export const inject = [
  'agentDefaultModel',
  'agents',
  'sessions',
  'agentLoop',
  'tools',
  'systemPrompt',
]

/** @param {any} ctx */
export function apply(ctx) {
  if (process.send === undefined)
    throw new Error('the driver row needs a parent with an IPC channel')
  holdPatchLayersStill(ctx)
  const send = (/** @type {object} */ message) => {
    if (process.connected) process.send?.(message)
  }
  const operations = createOperations(ctx)
  const listen = (/** @type {{ id: number, operation: string, args: unknown[] }} */ request) => {
    const { id, operation, args } = request
    perform(operations, operation, args).then(
      (value) => send({ id, value }),
      (error) => send({ id, error: describe(error) }),
    )
  }
  ctx.effect(() => {
    // Nobody is left to end this process when the parent was killed.
    const leave = () => void ctx.get('appExit')(1)
    process.on('message', listen)
    process.on('disconnect', leave)
    return () => {
      process.off('message', listen)
      process.off('disconnect', leave)
      // An open channel would keep the process alive after the host has let go of everything.
      process.disconnect?.()
    }
  })
  ctx
    .get('loader')
    ?.await()
    .then(
      () => send({ ready: true }),
      (/** @type {unknown} */ error) => send({ ready: true, error: describe(error) }),
    )
}

/**
 * Stands in for the service that watches the patch files. Its first scan applies them once more a
 * moment after the boot, which would undo a `setRow` at a time that no test can know.
 * @param {any} ctx
 */
function holdPatchLayersStill(ctx) {
  ctx.provide('hmr', { registerConfig: async () => async () => undefined })
}

/**
 * @param {ReturnType<typeof createOperations>} operations
 * @param {string} operation
 * @param {unknown[]} args
 */
async function perform(operations, operation, args) {
  const known = /** @type {Record<string, (...args: any[]) => unknown>} */ (operations)[operation]
  if (known === undefined) throw new Error(`the driver knows no operation ${operation}`)
  return known(...args)
}

/** @param {unknown} error */
function describe(error) {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name: kind, message, stack } = error
  return { name: kind, message, stack, code: /** @type {any} */ (error).code }
}
