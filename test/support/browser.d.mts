/** A real browser under the control of a test. See `browser.mjs`. */

export interface BrowserOptions {
  /** Path of a Chromium, from `findChromium`. */
  executable: string
  /** What the browser asks pages for; `en-US` by default. */
  language?: string
  /** Size of the page in CSS pixels, 1280 by 800 by default. */
  width?: number
  height?: number
}

/** One page. Functions given to it run in the page and must not use anything of their surroundings. */
export interface Browser {
  /** Goes to an address; `waitFor` something of the page afterwards. */
  open(url: string): Promise<void>
  evaluate<A extends unknown[], R>(body: (...args: A) => R, ...args: A): Promise<Awaited<R>>
  /** Resolves with the first value of the condition that is not falsy; rejects after a minute. */
  waitFor<A extends unknown[], R>(condition: (...args: A) => R, ...args: A): Promise<NonNullable<R>>
  /** Types into what has the focus. */
  type(text: string): Promise<void>
  press(key: 'Enter' | 'Escape'): Promise<void>
  /** @returns a PNG. */
  screenshot(options?: {
    clip?: { x: number; y: number; width: number; height: number; scale: number }
  }): Promise<Buffer>
  /** Ends the browser and removes its profile. */
  close(): Promise<void>
}

/** Path of a Chromium: `CHROMIUM_PATH`, else the first on `PATH`; `undefined` without one. */
export function findChromium(env?: NodeJS.ProcessEnv): string | undefined
/** Starts a browser with an empty profile and one page. */
export function startBrowser(options: BrowserOptions): Promise<Browser>
