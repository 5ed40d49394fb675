/**
 * One request of the host to the model, with the questions that tests ask about it.
 *
 * The raw text is kept beside the parsed body: a cached prefix is a matter of bytes.
 */

/** The host's own first words of the message that carries all contexts. */
const SNAPSHOT_START = 'Current runtime context.'

/** @typedef {import('./index.d.mts').RecordedRequest} RecordedRequest */
/** @typedef {import('./index.d.mts').WireMessage} WireMessage */

/**
 * @param {string} raw the request body as received.
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @returns {RecordedRequest}
 * @throws {SyntaxError} when the body is no JSON.
 */
export function recordRequest(raw, headers) {
  /** @type {RecordedRequest['body']} */
  const body = JSON.parse(raw)
  const texts = body.messages.map(textOf)
  const ofRole = (/** @type {string} */ role) =>
    texts.filter((_, index) => body.messages[index]?.role === role)
  const userTexts = ofRole('user')
  const prompts = userTexts.filter((text) => !text.startsWith(SNAPSHOT_START))
  const tools = body.tools ?? []
  return {
    kind: kindOf(body, headers),
    sessionId: String(headers['x-deepseek-harness-session-id'] ?? ''),
    raw,
    body,
    headers,
    system: ofRole('system').join('\n'),
    snapshots: userTexts.filter((text) => text.startsWith(SNAPSHOT_START)),
    prompts,
    lastPrompt: prompts.at(-1) ?? '',
    toolNames: tools.map((tool) => tool.function.name),
    toolResults: body.messages.flatMap((message, index) =>
      message.role === 'tool' ? [{ id: message.tool_call_id ?? '', text: texts[index] ?? '' }] : [],
    ),
    includes: (part) => texts.some((text) => text.includes(part)),
    tool: (name) => tools.find((tool) => tool.function.name === name)?.function,
  }
}

/**
 * @param {RecordedRequest['body']} body
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @returns {RecordedRequest['kind']}
 */
function kindOf(body, headers) {
  if (headers['x-deepseek-harness-compact'] === '1') return 'compaction'
  return body.tools === undefined || body.tools.length === 0 ? 'title' : 'turn'
}

/** @param {WireMessage} message @returns {string} */
function textOf(message) {
  if (typeof message.content === 'string') return message.content
  return (message.content ?? []).map((part) => part.text ?? '').join('')
}
