/** The host's web page with one past session open. See `web-session.mjs`. */
import type { Browser, BrowserOptions } from './browser.mjs'
import type { Home, RecordingModel } from './host/index.mjs'

export interface WebSessionOptions {
  browser: BrowserOptions
  /** A home of profile `web` with the plugin. */
  home: Home
  model: RecordingModel
  /** The project's folder. */
  cwd: string
  /** What the person says in the session; the model must have an answer. */
  task: string
}

export interface WebSession {
  readonly browser: Browser
  /** Types a line of `/memory` and resolves with what its opened row says. */
  command(line: string): Promise<string>
  /** Ends the browser and the host. */
  close(): Promise<void>
}

export function openWebSession(options: WebSessionOptions): Promise<WebSession>
