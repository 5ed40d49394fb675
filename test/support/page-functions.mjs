/** Functions that run in the host's page; see `browser.mjs`. They use nothing of their surroundings. */

/** @param {string} text @returns {boolean} whether the page shows it. */
export function pageShows(text) {
  return document.body.innerText.includes(text)
}

/** Puts the cursor where messages are typed. */
export function focusMessage() {
  document.querySelector('textarea')?.focus()
}

/** @param {string} label @returns {boolean} whether there was such a button to click. */
export function clickButton(label) {
  const buttons = [...document.querySelectorAll('button')]
  const button = buttons.find(({ textContent }) => textContent?.trim() === label)
  button?.click()
  return button !== undefined
}
