/**
 * The listening half of a model: takes chat requests on loopback and records each one.
 *
 * It does not answer: the scripted and the forwarding model do, each in its own way.
 */
import { createServer } from 'node:http'
import { recordRequest } from './recorded-request.mjs'

/** @typedef {import('./index.d.mts').RecordedRequest} RecordedRequest */
/** @typedef {import('./index.d.mts').RecordingModel} RecordingModel */
/** @typedef {import('node:http').ServerResponse} ServerResponse */

/**
 * Starts listening on a free port of 127.0.0.1.
 * @param {(request: RecordedRequest, response: ServerResponse) => Promise<void>} answer
 * called once per request, after it was recorded; a rejection is answered with status 400 and its
 * message. Not 500: the host repeats what may be a passing trouble of a server.
 * @param {(message: string) => void} onFault told about rejections and about anything that is no chat request.
 * @returns {Promise<RecordingModel>}
 */
export async function startModelServer(answer, onFault) {
  /** @type {RecordedRequest[]} */
  const recorded = []
  /** @type {Set<(request: RecordedRequest) => void>} */
  const watchers = new Set()
  const serve = async (
    /** @type {import('node:http').IncomingMessage} */ incoming,
    /** @type {ServerResponse} */ response,
  ) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    if (incoming.method !== 'POST' || !incoming.url?.endsWith('/chat/completions')) {
      throw new Error(`unexpected ${incoming.method} ${incoming.url}`)
    }
    const request = recordRequest(Buffer.concat(chunks).toString('utf8'), incoming.headers)
    recorded.push(request)
    for (const watch of watchers) watch(request)
    await answer(request, response)
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error) => {
      const message = error instanceof Error ? error.message : String(error)
      onFault(message)
      if (response.headersSent) response.destroy()
      else sendError(response, 400, message)
    })
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(undefined))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('no port was given')
  return describeModel(server, `http://127.0.0.1:${address.port}`, recorded, watchers)
}

/**
 * An error as the service words it.
 * @param {ServerResponse} response
 * @param {number} status
 * @param {string} message
 */
export function sendError(response, status, message) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message } }))
}

/**
 * @param {import('node:http').Server} server
 * @param {string} url
 * @param {RecordedRequest[]} recorded
 * @param {Set<(request: RecordedRequest) => void>} watchers
 * @returns {RecordingModel}
 */
function describeModel(server, url, recorded, watchers) {
  const ofKind = (/** @type {RecordedRequest['kind']} */ kind) =>
    recorded.filter((request) => request.kind === kind)
  return {
    url,
    requests: () => ofKind('turn'),
    titles: () => ofKind('title'),
    compactions: () => ofKind('compaction'),
    of: (sessionId) => ofKind('turn').filter((request) => request.sessionId === sessionId),
    waitFor(matches) {
      const known = recorded.find(matches)
      if (known !== undefined) return Promise.resolve(known)
      return new Promise((resolve) => {
        const watch = (/** @type {RecordedRequest} */ request) => {
          if (!matches(request)) return
          watchers.delete(watch)
          resolve(request)
        }
        watchers.add(watch)
      })
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
