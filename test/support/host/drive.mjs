/**
 * A host process under the control of a test: several sessions and turns, resume, fork,
 * compaction, rows switched on and off.
 *
 * The real program boots with the real profile; only the row of the one-shot runner is replaced.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installHost } from '../../../scripts/install-host.mjs'
import { hostEnvironment } from './run-headless.mjs'
import { startProcess } from './run-process.mjs'

/** @typedef {import('./index.d.mts').DrivenHost} DrivenHost */
/** @typedef {import('./index.d.mts').HostProcessOptions} HostProcessOptions */

const TIMEOUT_MS = 180_000
const DRIVER_ROWS = JSON.stringify([
  { id: 'headless-startup', disabled: true },
  { id: 'headless-runner', disabled: true },
  {
    insert: [
      {
        id: 'project-memory-host-driver',
        name: new URL('./driver-plugin/index.mjs', import.meta.url).href,
      },
    ],
  },
])

/**
 * Boots a host, hands it to `script`, and ends it in every case.
 * @template T
 * @param {HostProcessOptions} options
 * @param {(host: DrivenHost) => Promise<T>} script
 * @returns {Promise<T>} what `script` gave.
 * @throws {Error} when the host does not boot, ends too early, or exits with another code than 0.
 */
export async function drive(options, script) {
  const host = await startHost(options)
  try {
    const result = await script(host)
    const { code, stderr } = await host.exit()
    if (code !== 0) throw new Error(`the driven host exited with code ${code}:\n${stderr}`)
    return result
  } finally {
    await host.kill()
  }
}

/**
 * Boots a host and returns when all its rows are active.
 * @param {HostProcessOptions} options
 * @returns {Promise<DrivenHost>} the caller must call `exit` or `kill`.
 * @throws {Error} with the host's own output when it does not come up.
 */
export async function startHost(options) {
  const { home, patches = [], timeoutMs = TIMEOUT_MS } = options
  const host = await installHost()
  const folder = await mkdtemp(join(home.root, 'driver-'))
  const driverPatch = join(folder, 'driver.patch.yml')
  await writeFile(driverPatch, DRIVER_ROWS)
  const overlays = [...patches, driverPatch].flatMap((path) => ['--patch', path])
  const started = startProcess(
    host.nodePath,
    [host.dshPath, '--profile', home.profile, ...overlays],
    {
      cwd: options.cwd ?? (await home.project()),
      env: hostEnvironment(host, options),
      timeoutMs,
      ipc: true,
    },
  )
  const channel = openChannel(started)
  try {
    await channel.ready
    return drivenHost(started, channel.ask)
  } catch (error) {
    started.stop()
    const { stdout, stderr } = await started.ended
    throw new Error(`the host did not boot: ${String(error)}\n${stdout}${stderr}`, { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * @param {ReturnType<typeof startProcess>} started
 * @param {(operation: string, ...args: unknown[]) => Promise<any>} ask
 * @returns {DrivenHost}
 */
function drivenHost(started, ask) {
  return {
    pid: started.child.pid ?? -1,
    create: (meta) => ask('create', meta),
    say: (sessionId, text) => ask('say', sessionId, text),
    cancel: (sessionId) => ask('cancel', sessionId),
    end: (sessionId) => ask('end', sessionId),
    resume: (sessionId) => ask('resume', sessionId),
    fork: (sessionId) => ask('fork', sessionId),
    compact: (sessionId) => ask('compact', sessionId),
    setRow: (id, change) => ask('setRow', id, change),
    rows: () => ask('rows'),
    inspect: (sessionId) => ask('inspect', sessionId),
    header: (sessionId) => ask('header', sessionId),
    events: (sessionId) => ask('events', sessionId),
    evaluate: (body, argument, sessionId) => ask('evaluate', body.toString(), argument, sessionId),
    async exit(code = 0) {
      await ask('exit', code)
      return started.ended
    },
    async kill() {
      started.stop()
      return started.ended
    },
  }
}

/**
 * Requests and replies over the IPC channel.
 * @param {ReturnType<typeof startProcess>} started
 */
function openChannel({ child, ended }) {
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const pending = new Map()
  let next = 0
  /** @type {(error?: { message: string }) => void} */
  let settleReady = () => undefined
  const ready = new Promise((resolve, reject) => {
    settleReady = (error) => (error === undefined ? resolve(undefined) : reject(toError(error)))
  })
  child.on('message', (/** @type {any} */ message) => {
    if (message.ready === true) return settleReady(message.error)
    const waiting = pending.get(message.id)
    pending.delete(message.id)
    if (message.error === undefined) waiting?.resolve(message.value)
    else waiting?.reject(toError(message.error))
  })
  const gone = (/** @type {string} */ message) => {
    settleReady({ message })
    for (const { reject } of pending.values()) reject(new Error(message))
    pending.clear()
  }
  ended.then(
    ({ code, signal, timedOut, stderr }) =>
      gone(
        `the host ended (code ${code}, signal ${signal}${timedOut ? ', out of time' : ''})\n${stderr}`,
      ),
    (error) => gone(String(error)),
  )
  return {
    ready,
    /** @param {string} operation @param {unknown[]} args @returns {Promise<any>} */
    ask: (operation, ...args) =>
      new Promise((resolve, reject) => {
        next += 1
        const id = next
        pending.set(id, { resolve, reject })
        child.send({ id, operation, args }, (error) => {
          if (error === null) return
          pending.delete(id)
          reject(error)
        })
      }),
  }
}

/** @param {{ message: string, name?: string, code?: unknown, stack?: string }} error */
function toError({ message, name, code, stack }) {
  return Object.assign(new Error(message), name === undefined ? {} : { name }, {
    code,
    hostStack: stack,
  })
}
