import type { FileSystemCall } from './faulty-file-system.mjs'

/** The moment at which a new index becomes visible. */
export function isIndexRename({ name, to }: FileSystemCall): boolean {
  return name === 'rename' && to?.endsWith('/MEMORY.md') === true
}

/** The moment at which a memory file becomes visible. */
export function isFileRename({ name, to }: FileSystemCall): boolean {
  return name === 'rename' && to?.endsWith('.md') === true && !to.endsWith('/MEMORY.md')
}

/** The moment at which the directory is flushed: at first, all memory files are visible and the index is the old one. */
export function isDirectoryFlush({ name, path }: FileSystemCall): boolean {
  return name === 'handle.sync' && path.endsWith('/memory')
}

/** Run something once, before the first call that matches. */
export function once(
  isMoment: (call: FileSystemCall) => boolean,
  action: () => Promise<unknown>,
): (call: FileSystemCall) => Promise<void> {
  let isDone = false
  return async (call) => {
    if (isDone || !isMoment(call)) return
    isDone = true
    await action()
  }
}

/** @returns a save's input whose key, body and hook are told apart easily. */
export function inputFor(key: string, more: { signal?: AbortSignal; content?: string } = {}) {
  return { key, content: `about ${key}`, description: key, ...more }
}

/** @returns so many different keys. */
export function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `k${at}`)
}

/** @returns the index lines that {@link inputFor} makes. */
export function linesFor(keys: readonly string[]): string[] {
  return keys.map((key) => `- [${key}](${key}.md) — ${key}`)
}
