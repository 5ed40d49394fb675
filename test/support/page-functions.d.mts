/** Functions for `Browser.evaluate` and `Browser.waitFor`. */

/** Whether the page shows a text. */
export function pageShows(text: string): boolean
/** Puts the cursor where messages are typed. */
export function focusMessage(): void
/** Clicks the button of that label; false when there is none yet. */
export function clickButton(label: string): boolean
