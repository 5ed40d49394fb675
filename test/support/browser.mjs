/**
 * A real browser under the control of a test, without any package: Chromium's debugging protocol
 * over two pipes.
 *
 * Only what a test of a page needs: open, wait for a condition inside the page, click, type, take a
 * picture. Waiting happens in the page and is woken by its changes, so nothing here sleeps.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** @typedef {import('./browser.d.mts').Browser} Browser */
/** @typedef {import('./browser.d.mts').BrowserOptions} BrowserOptions */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--hide-scrollbars',
  '--remote-debugging-pipe',
]
/** A page on a busy machine; a condition that never comes true must not hang a run. */
const WAIT_MS = 60_000

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string | undefined} path of a Chromium: `CHROMIUM_PATH`, else the first on `PATH`.
 */
export function findChromium(env = process.env) {
  const chosen = env['CHROMIUM_PATH']
  if (chosen) return chosen
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable)
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Starts a browser with an empty profile and one page.
 * @param {BrowserOptions} options
 * @returns {Promise<Browser>} the caller must call `close`.
 */
export async function startBrowser({ executable, language = 'en-US', width = 1280, height = 800 }) {
  const profile = await mkdtemp(join(tmpdir(), 'project-memory-browser-'))
  const child = spawn(
    executable,
    [
      ...FLAGS,
      `--user-data-dir=${profile}`,
      `--lang=${language}`,
      `--window-size=${width},${height}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const send = openProtocol(child)
    const { targetInfos } = await send('Target.getTargets')
    const page = targetInfos.find((/** @type {any} */ target) => target.type === 'page')
    const attach = { targetId: page.targetId, flatten: true }
    const { sessionId } = await send('Target.attachToTarget', attach)
    const onPage = (/** @type {string} */ method, /** @type {object} */ params = {}) =>
      send(method, params, sessionId)
    await onPage('Page.enable')
    await onPage('Runtime.enable')
    await onPage('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    })
    return { ...pageOperations(onPage), close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Requests and replies, one JSON text each, ended by NUL.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {(method: string, params?: object, sessionId?: string) => Promise<any>}
 */
function openProtocol(child) {
  const input = child.stdio[3]
  const output = child.stdio[4]
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const pending = new Map()
  let next = 0
  let rest = ''
  output.setEncoding('utf8')
  output.on('data', (chunk) => {
    const messages = (rest + chunk).split('\0')
    rest = messages.pop() ?? ''
    for (const text of messages) {
      const { id, result, error } = JSON.parse(text)
      const waiting = pending.get(id)
      pending.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(new Error(error.message))
    }
  })
  input.on('error', () => undefined)
  const gone = () => {
    for (const { reject } of pending.values()) reject(new Error('the browser has ended'))
    pending.clear()
  }
  child.once('error', gone)
  child.once('close', gone)
  return (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      next += 1
      pending.set(next, { resolve, reject })
      input.write(`${JSON.stringify({ id: next, method, params, sessionId })}\0`)
    })
}

/**
 * @param {(method: string, params?: object) => Promise<any>} send
 * @returns {Omit<Browser, 'close'>}
 */
function pageOperations(send) {
  const evaluate = async (/** @type {string} */ expression) => {
    const { exceptionDetails, result } = await send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails === undefined) return result.value
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  }
  const call = (/** @type {string} */ body, /** @type {unknown[]} */ args) =>
    evaluate(`(${body})(${args.map((arg) => JSON.stringify(arg) ?? 'undefined').join(', ')})`)
  const key = async (/** @type {string} */ name) => {
    const common = { key: name, code: name, ...KEYS[name] }
    await send('Input.dispatchKeyEvent', { type: 'keyDown', ...common })
    await send('Input.dispatchKeyEvent', { type: 'keyUp', ...common })
  }
  return {
    open: async (url) => void (await send('Page.navigate', { url })),
    evaluate: (body, ...args) => call(body.toString(), args),
    waitFor: (condition, ...args) =>
      call(waitInPage(condition.toString(), args), [WAIT_MS, condition.toString()]),
    type: async (text) => void (await send('Input.insertText', { text })),
    press: key,
    screenshot: async (options = {}) => {
      const { data } = await send('Page.captureScreenshot', { format: 'png', ...options })
      return Buffer.from(data, 'base64')
    },
  }
}

/** @type {Record<string, { text?: string, windowsVirtualKeyCode: number }>} */
const KEYS = {
  Enter: { text: '\r', windowsVirtualKeyCode: 13 },
  Escape: { windowsVirtualKeyCode: 27 },
}

/**
 * The source of a function that runs in the page: asks the condition after every change of it.
 * @param {string} condition
 * @param {unknown[]} args
 */
function waitInPage(condition, args) {
  const values = args.map((arg) => JSON.stringify(arg) ?? 'undefined').join(', ')
  return `(limit, source) => new Promise((resolve, reject) => {
    const ask = () => (${condition})(${values})
    const settle = () => {
      const value = ask()
      if (!value) return false
      observer.disconnect()
      clearTimeout(timer)
      resolve(value)
      return true
    }
    const observer = new MutationObserver(settle)
    const timer = setTimeout(() => {
      observer.disconnect()
      reject(new Error('never came true: ' + source + '\\nThe page says: ' + document.body?.innerText))
    }, limit)
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
    settle()
  })`
}
