/** Reads what happened in a turn from the session's own log. */

/**
 * @param {readonly any[]} events the whole log.
 * @param {number} firstSeq events before it belong to earlier turns.
 * @returns {import('../index.d.mts').TurnSummary} `reason` is missing when the log has no end of the
 * turn, which the host leaves out when a pending model request is cancelled.
 */
export function summarizeTurn(events, firstSeq) {
  /** @type {import('../index.d.mts').TurnSummary} */
  const summary = { text: '', toolCalls: [] }
  for (const event of events.slice(firstSeq)) {
    if (event.type === 'turn/end') summary.reason = event.data.reason
    if (event.type === 'assistant/message') readAnswer(summary, event.data.message)
    if (event.type === 'tool/result') readResult(summary, event.data.message)
  }
  return summary
}

/**
 * @param {import('../index.d.mts').TurnSummary} summary
 * @param {{ content: any[] }} message
 */
function readAnswer(summary, message) {
  const text = textOf(message.content)
  if (text !== '') summary.text = text
  for (const block of message.content) {
    if (block.type !== 'tool-call') continue
    summary.toolCalls.push({
      id: block.id,
      name: block.name,
      arguments: block.arguments,
      isError: false,
      result: '',
    })
  }
}

/**
 * @param {import('../index.d.mts').TurnSummary} summary
 * @param {{ content: any[] }} message
 */
function readResult(summary, message) {
  for (const block of message.content) {
    const call = summary.toolCalls.find((candidate) => candidate.id === block.toolCallId)
    if (block.type !== 'tool-result' || call === undefined) continue
    call.isError = block.isError === true
    call.result = textOf(block.content)
  }
}

/** @param {any[]} blocks */
function textOf(blocks) {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}
