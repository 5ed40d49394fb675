/**
 * The host's web page with one past session open, and commands typed into it.
 *
 * The session is made by the one-shot runner on the same home: the page then knows its project, and
 * no folder has to be picked in a dialog. Labels are those of the pinned host in English.
 */
import { installHost } from '../../scripts/install-host.mjs'
import { startBrowser } from './browser.mjs'
import { runHeadless } from './host/index.mjs'
import { hostEnvironment } from './host/run-headless.mjs'
import { startProcess } from './host/run-process.mjs'

/** @typedef {import('./web-session.d.mts').WebSession} WebSession */
/** @typedef {import('./web-session.d.mts').WebSessionOptions} WebSessionOptions */

/** Booting, loading the page and a few commands; a process that hangs is ended. */
const TIMEOUT_MS = 240_000

/**
 * Opens the page with the session of one finished turn.
 * @param {WebSessionOptions} options the model must have an answer for `task`.
 * @returns {Promise<WebSession>} the caller must call `close`.
 */
export async function openWebSession({ browser: browserOptions, cwd, home, model, task }) {
  const headless = { ...home, profile: 'headless' }
  const first = await runHeadless({ home: headless, model, cwd, task })
  if (first.code !== 0) throw new Error(`the first session failed:\n${first.stderr}`)
  const server = await startServer({ home, model, cwd })
  const browser = await startBrowser(browserOptions).catch(async (error) => {
    await server.stop()
    throw error
  })
  const close = async () => {
    await browser.close()
    await server.stop()
  }
  try {
    await browser.open(server.url)
    await showSession(browser)
    return { browser, command: (line) => runCommand(browser, line), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** @param {Pick<WebSessionOptions, 'home' | 'model' | 'cwd'>} options */
async function startServer({ home, model, cwd }) {
  const host = await installHost()
  const args = [host.dshPath, '--profile', home.profile, '--port', '0', '--no-open']
  /** @type {(url: string) => void} */
  let tell = () => undefined
  /** @type {Promise<string>} */
  const address = new Promise((resolve) => {
    tell = resolve
  })
  const started = startProcess(host.nodePath, args, {
    cwd,
    env: hostEnvironment(host, { home, model }),
    timeoutMs: TIMEOUT_MS,
    onLine(line) {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
      if (url !== undefined) tell(url)
    },
  })
  const tooEarly = started.ended.then(({ stdout, stderr }) => {
    throw new Error(`the web host ended:\n${stdout}${stderr}`)
  })
  tooEarly.catch(() => undefined)
  const stop = async () => {
    started.stop()
    await started.ended
  }
  return { url: await Promise.race([address, tooEarly]), stop }
}

/** @param {import('./browser.d.mts').Browser} browser */
async function showSession(browser) {
  await browser.waitFor(() => {
    const isNotice = (/** @type {Element} */ button) => button.textContent === 'Continue'
    const button = [...document.querySelectorAll('button')].find(isNotice)
    button?.click()
    return button !== undefined
  })
  await browser.waitFor(() => {
    const row = document.querySelector('[role=treeitem][aria-selected=false]')
    if (row instanceof HTMLElement) row.click()
    return row !== null
  })
  await browser.waitFor(
    () => document.querySelector('textarea[placeholder="Message the agent"]') !== null,
  )
}

/**
 * @param {import('./browser.d.mts').Browser} browser
 * @param {string} line
 * @returns {Promise<string>} what the opened row of the command says.
 */
async function runCommand(browser, line) {
  const before = await browser.evaluate(commandRowCount)
  await browser.evaluate(() => document.querySelector('textarea')?.focus())
  await browser.type(line)
  await browser.press('Enter')
  return browser.waitFor(openedRow, before)
}

/** Runs in the page. */
function commandRowCount() {
  const rows = [...document.querySelectorAll('[data-disclosure-row][data-expandable=true]')]
  return rows.filter((row) => row.textContent?.startsWith('memory')).length
}

/**
 * Runs in the page: opens a row when it is there.
 * @param {number} position among the rows of the command.
 * @returns {string} what the open row says, '' until then.
 */
function openedRow(position) {
  const rows = [...document.querySelectorAll('[data-disclosure-row][data-expandable=true]')]
  const row = rows.filter((candidate) => candidate.textContent?.startsWith('memory'))[position]
  if (!(row instanceof HTMLElement)) return ''
  if (row.getAttribute('aria-expanded') === 'true') return row.parentElement?.innerText ?? ''
  row.click()
  return ''
}
