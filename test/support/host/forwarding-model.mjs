/**
 * A real service behind the same recording door, so that what the model saw can be shown for it too.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { startModelServer } from './model-server.mjs'

const FORWARDED_HEADERS = ['authorization', 'content-type', 'accept']

/**
 * Starts a door to a service.
 * @param {string} upstream its base address, without `/chat/completions`.
 * @returns {Promise<import('./index.d.mts').RecordingModel>} requests go on with the key that the
 * host sends; answers, errors too, come back as they are. An unreachable service is an error 400.
 */
export function startForwardingModel(upstream) {
  const address = `${upstream.replace(/\/+$/, '')}/chat/completions`
  const forward = async (
    /** @type {import('./index.d.mts').RecordedRequest} */ request,
    /** @type {import('node:http').ServerResponse} */ response,
  ) => {
    const headers = FORWARDED_HEADERS.map((name) => [name, String(request.headers[name] ?? '')])
    const answer = await fetch(address, {
      method: 'POST',
      headers: Object.fromEntries(headers),
      body: request.raw,
    })
    const type = answer.headers.get('content-type') ?? 'application/json'
    response.writeHead(answer.status, { 'content-type': type })
    if (answer.body === null) response.end()
    else await pipeline(Readable.fromWeb(/** @type {any} */ (answer.body)), response)
  }
  return startModelServer(forward, (message) => void process.stderr.write(`${message}\n`))
}
