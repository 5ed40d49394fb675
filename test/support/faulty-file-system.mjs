/**
 * The store's file system with a hook before every call.
 *
 * Role: counts the calls of a save, file handles included, and lets a test fail,
 * delay or end the process at any of them. Everything that is not stopped by the
 * hook happens on the real disk. Plain JavaScript, so that fixture processes that
 * use the built package can import it too.
 */
import * as nodeFileSystem from 'node:fs/promises'

const METHODS = [
  'chmod',
  'link',
  'lstat',
  'mkdir',
  'open',
  'readdir',
  'realpath',
  'rename',
  'rm',
  'rmdir',
  'unlink',
  'utimes',
]

const HANDLE_METHODS = new Set(['chmod', 'close', 'read', 'stat', 'sync', 'utimes', 'writev'])

/** An error as Node makes it for a failed system call. */
export function systemError(errno, syscall, path) {
  const error = new Error(`${errno}: injected fault, ${syscall} '${path}'`)
  return Object.assign(error, { code: errno, errno: -1, syscall, path })
}

/**
 * Wrap the real file system.
 * @param {(call: object) => void | Promise<void>} before - called before each call.
 */
export function watchFileSystem(before = () => undefined) {
  const calls = []
  const watched = { before, calls }
  const announce = async (name, path, to) => {
    const call = { position: calls.length + 1, name, path, ...(to === undefined ? {} : { to }) }
    calls.push(call)
    await watched.before(call)
  }
  watched.fileSystem = Object.fromEntries(
    METHODS.map((name) => [
      name,
      async (path, ...rest) => {
        await announce(name, path, ['link', 'rename'].includes(name) ? rest[0] : undefined)
        const result = await nodeFileSystem[name](path, ...rest)
        return name === 'open' ? watchHandle(result, path, announce) : result
      },
    ]),
  )
  return watched
}

function watchHandle(handle, path, announce) {
  return new Proxy(handle, {
    get(target, property) {
      const value = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      if (!HANDLE_METHODS.has(property)) return value.bind(target)
      return async (...args) => {
        try {
          await announce(`handle.${String(property)}`, path)
        } catch (error) {
          // The system frees a descriptor also when closing it reports an error.
          if (property === 'close') await target.close()
          throw error
        }
        return value.apply(target, args)
      }
    },
  })
}

/** A hook that fails the calls that match, the first `times` of them. */
export function failMatching(isMatch, errno, times = Infinity) {
  let left = times
  return (call) => {
    if (left <= 0 || !isMatch(call)) return
    left -= 1
    throw systemError(errno, call.name, call.path)
  }
}

/** A hook that sends this process a signal before the call at a position, or the first that matches. */
export function signalAt(positionOrMatch, signal) {
  const isMatch =
    typeof positionOrMatch === 'number'
      ? (call) => call.position === positionOrMatch
      : positionOrMatch
  let isSent = false
  return async (call) => {
    if (isSent || !isMatch(call)) return
    isSent = true
    process.kill(process.pid, signal)
    // A stop takes effect a moment later; go on only once it has.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
