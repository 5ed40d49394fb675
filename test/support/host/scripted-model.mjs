/**
 * A model that says what a test tells it to, behind the wire format that the host speaks.
 *
 * A script that has run out is an error and never a polite answer: a test must notice each request
 * that it did not expect.
 */
import { sendError, startModelServer } from './model-server.mjs'

/** @typedef {import('./index.d.mts').ModelStep} ModelStep */
/** @typedef {import('./index.d.mts').ModelAnswer} ModelAnswer */
/** @typedef {import('./index.d.mts').RecordedRequest} RecordedRequest */
/** @typedef {import('./index.d.mts').ScriptedModelOptions} ScriptedModelOptions */
/** @typedef {import('./index.d.mts').ScriptedModel} ScriptedModel */
/** @typedef {import('node:http').ServerResponse} ServerResponse */
/** @typedef {{ queues: Map<string, ModelStep[]>, options: ScriptedModelOptions, toolCallCount: number }} State */

const MAIN = 'main'
/** Reported usage: large enough to be plausible, small enough to keep automatic compaction away. */
const USAGE = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 }

/**
 * Starts a model.
 * @param {ModelStep[] | Record<string, ModelStep[]>} [scripts] steps of the script `main`, or of several scripts by name.
 * @param {ScriptedModelOptions} [options]
 * @returns {Promise<ScriptedModel>} listening on a free port of 127.0.0.1 until `close`.
 */
export async function startScriptedModel(scripts = [], options = {}) {
  const named = Array.isArray(scripts) ? { [MAIN]: scripts } : scripts
  const queues = new Map(Object.entries(named).map(([name, steps]) => [name, [...steps]]))
  const state = { queues, options, toolCallCount: 0 }
  /** @type {string[]} */
  const faults = []
  const server = await startModelServer(
    async (request, response) => send(state, request, response, await answerFor(state, request)),
    (message) => faults.push(message),
  )
  return {
    ...server,
    faults: () => [...faults],
    remaining: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0),
    add(steps, name = MAIN) {
      queues.set(name, [...(queues.get(name) ?? []), ...steps])
    },
  }
}

/**
 * A step that calls one tool.
 * @param {string} name
 * @param {unknown} args sent as JSON; a string is sent as it is, so that broken JSON can be tried.
 * @param {string} [text] said before the call.
 * @returns {ModelAnswer}
 */
export function callTool(name, args, text) {
  return { ...(text === undefined ? {} : { text }), toolCalls: [{ name, arguments: args }] }
}

/**
 * @param {State} state
 * @param {RecordedRequest} request
 * @returns {Promise<ModelAnswer>}
 */
async function answerFor(state, request) {
  const { options, queues } = state
  if (request.kind === 'title') return toAnswer(options.title ?? 'A scripted title', request)
  if (request.kind === 'compaction') {
    return toAnswer(options.compaction ?? 'Summary of the talk so far.', request)
  }
  const name = options.route?.(request) ?? MAIN
  const step = queues.get(name)?.shift()
  if (step === undefined) {
    const prompt = request.lastPrompt.slice(0, 200)
    throw new Error(`scripted model: no step left in script "${name}" for: ${prompt}`)
  }
  return toAnswer(step, request)
}

/**
 * @param {ModelStep} step
 * @param {RecordedRequest} request
 * @returns {Promise<ModelAnswer>}
 */
async function toAnswer(step, request) {
  const answer = typeof step === 'function' ? await step(request) : step
  return typeof answer === 'string' ? { text: answer } : answer
}

/**
 * @param {State} state
 * @param {RecordedRequest} request
 * @param {ServerResponse} response
 * @param {ModelAnswer} answer
 * @returns {Promise<void> | void} for a hanging answer: until the host hung up.
 */
function send(state, request, response, answer) {
  if (answer.hang === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    return new Promise((resolve) => response.once('close', resolve))
  }
  if (answer.error === undefined) return stream(state, request, response, answer)
  return sendError(response, answer.error.status, answer.error.message ?? 'scripted error')
}

/**
 * @param {State} state
 * @param {RecordedRequest} request
 * @param {ServerResponse} response
 * @param {ModelAnswer} answer
 */
function stream(state, request, response, answer) {
  const head = {
    id: 'chatcmpl-scripted',
    object: 'chat.completion.chunk',
    created: 0,
    model: request.body.model,
  }
  const chunk = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const usage = finish === null ? {} : { usage: USAGE }
    response.write(`data: ${JSON.stringify({ ...head, choices, ...usage })}\n\n`)
  }
  const { text, reasoning, toolCalls = [] } = answer
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  chunk({ role: 'assistant', content: '' })
  if (reasoning !== undefined) chunk({ reasoning_content: reasoning })
  if (text !== undefined) chunk({ content: text })
  for (const [index, call] of toolCalls.entries()) {
    state.toolCallCount += 1
    const id = call.id ?? `call-${state.toolCallCount}`
    const args =
      typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
    chunk({
      tool_calls: [{ index, id, type: 'function', function: { name: call.name, arguments: args } }],
    })
  }
  chunk({}, answer.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'))
  response.end('data: [DONE]\n\n')
}
