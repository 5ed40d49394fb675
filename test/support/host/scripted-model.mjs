/**
 * A model that says what a test tells it to, behind the wire format that the host speaks.
 *
 * It answers `POST …/chat/completions` on loopback with server-sent events and records every
 * request, which is exactly what a real model would have seen. A script that has run out is an
 * error and never a polite answer: a test must notice each request it did not expect.
 */
import { createServer } from 'node:http'
import { recordRequest } from './recorded-request.mjs'

/** @typedef {import('./index.d.mts').ModelStep} ModelStep */
/** @typedef {import('./index.d.mts').ModelAnswer} ModelAnswer */
/** @typedef {import('./index.d.mts').RecordedRequest} RecordedRequest */
/** @typedef {import('./index.d.mts').ScriptedModelOptions} ScriptedModelOptions */
/** @typedef {import('./index.d.mts').ScriptedModel} ScriptedModel */

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
  const queues = new Map(
    Object.entries(Array.isArray(scripts) ? { [MAIN]: scripts } : scripts).map(([name, steps]) => [
      name,
      [...steps],
    ]),
  )
  /** @type {State} */
  const state = { queues, options, requests: [], faults: [], calls: 0, watchers: new Set() }
  const server = createServer((request, response) => {
    serve(state, request, response).catch((error) => {
      state.faults.push(String(error))
      response.destroy()
    })
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('no port was given')
  const ofKind = (/** @type {RecordedRequest['kind']} */ kind) =>
    state.requests.filter((request) => request.kind === kind)
  return {
    url: `http://127.0.0.1:${address.port}`,
    get requests() {
      return ofKind('turn')
    },
    get titles() {
      return ofKind('title')
    },
    get compactions() {
      return ofKind('compaction')
    },
    get faults() {
      return [...state.faults]
    },
    get remaining() {
      return [...queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    },
    of: (sessionId) => ofKind('turn').filter((request) => request.sessionId === sessionId),
    waitFor: (matches) => waitForRequest(state, matches),
    add(steps, name = MAIN) {
      queues.set(name, [...(queues.get(name) ?? []), ...steps])
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
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
 * @typedef {{ queues: Map<string, ModelStep[]>, options: ScriptedModelOptions, requests: RecordedRequest[],
 *   faults: string[], calls: number, watchers: Set<(request: RecordedRequest) => void> }} State
 */

/**
 * @param {State} state
 * @param {(request: RecordedRequest) => boolean} matches
 * @returns {Promise<RecordedRequest>}
 */
function waitForRequest(state, matches) {
  const known = state.requests.find(matches)
  if (known !== undefined) return Promise.resolve(known)
  return new Promise((resolve) => {
    const watch = (/** @type {RecordedRequest} */ request) => {
      if (!matches(request)) return
      state.watchers.delete(watch)
      resolve(request)
    }
    state.watchers.add(watch)
  })
}

/**
 * @param {State} state
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function serve(state, request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks).toString('utf8')
  if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions')) {
    return refuse(state, response, 404, `unexpected ${request.method} ${request.url}`)
  }
  const recorded = recordRequest(raw, request.headers)
  state.requests.push(recorded)
  for (const watch of state.watchers) watch(recorded)
  let answer
  try {
    answer = await answerFor(state, recorded)
  } catch (error) {
    // 400 and not 500: the host repeats what may be a passing trouble of the server.
    return refuse(state, response, 400, error instanceof Error ? error.message : String(error))
  }
  if (answer.hang === true) return waitForAbort(response)
  if (answer.error !== undefined) {
    const { status, message = 'scripted error' } = answer.error
    return sendJson(response, status, { error: { message } })
  }
  stream(state, response, recorded, answer)
}

/**
 * @param {State} state
 * @param {RecordedRequest} request
 * @returns {Promise<ModelAnswer>}
 */
async function answerFor(state, request) {
  const { options, queues } = state
  if (request.kind === 'title') return toAnswer(options.title ?? 'A scripted title', request)
  if (request.kind === 'compaction')
    return toAnswer(options.compaction ?? 'Summary of the talk so far.', request)
  const name = options.route?.(request) ?? MAIN
  const step = queues.get(name)?.shift()
  if (step === undefined) {
    throw new Error(
      `scripted model: no step left in script "${name}" for: ${request.lastPrompt.slice(0, 200)}`,
    )
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
 * @param {import('node:http').ServerResponse} response
 * @param {RecordedRequest} request
 * @param {ModelAnswer} answer
 */
function stream(state, response, request, answer) {
  const id = `chatcmpl-${state.requests.length}`
  const send = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) => {
    const chunk = { id, object: 'chat.completion.chunk', created: 0, model: request.body.model }
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const usage = finish === null ? {} : { usage: USAGE }
    response.write(`data: ${JSON.stringify({ ...chunk, choices, ...usage })}\n\n`)
  }
  const { text, reasoning, toolCalls = [] } = answer
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  send({ role: 'assistant', content: '' })
  if (reasoning !== undefined) send({ reasoning_content: reasoning })
  if (text !== undefined) send({ content: text })
  for (const [index, call] of toolCalls.entries()) {
    state.calls += 1
    const args =
      typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
    const described = { name: call.name, arguments: args }
    send({
      tool_calls: [
        { index, id: call.id ?? `call-${state.calls}`, type: 'function', function: described },
      ],
    })
  }
  send({}, answer.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'))
  response.end('data: [DONE]\n\n')
}

/** @param {import('node:http').ServerResponse} response @returns {Promise<void>} when the host hung up. */
function waitForAbort(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  return new Promise((resolve) => response.once('close', resolve))
}

/**
 * @param {State} state
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {string} message
 */
function refuse(state, response, status, message) {
  state.faults.push(message)
  sendJson(response, status, { error: { message } })
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {object} value
 */
function sendJson(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
