/**
 * One index line: rendering it, and reading the parts of one.
 *
 * Role: text of `- [Title](file.md) — hook`. Titles and hooks come from a model,
 * so everything in them that could end the line, the title or the link is
 * escaped or collapsed here and nowhere else.
 */

import type { IndexEntry } from '../types.ts'
import { INDEX_ENTRY_LENGTH_LIMIT, INDEX_TITLE_LENGTH_LIMIT } from './limits.ts'
import { toSingleLine, truncateText } from './text.ts'

const DEFAULT_BULLET = '- '
const HOOK_SEPARATOR = ' — '
/** Shorter hooks than this say nothing; they are left out. */
const MIN_HOOK_LENGTH = 4
/** Closes a title, or opens something that binds tighter than a link. */
const TITLE_ESCAPED = /[[\]\\`<]/g
const TARGET_ENCODED = /[\s\p{Control}()<>[\]\\%"'`#?]/gu
const ESCAPED_PUNCTUATION = /\\([!-/:-@[-`{-~])/g
const EXTENSION = /\.md$/i
/** The names we give and most others: nothing in them needs decoding or refusing. */
const PLAIN_NAME = /^[\w-][\w.-]*\.md$/i
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/**
 * The line of an entry.
 *
 * @param entry - title and hook of any length; an empty title becomes the file name.
 * @param bullet - bullet with the blanks around it, `- ` by default.
 * @returns one line without line ending, at most 200 code units unless the file
 * name alone is longer; the title takes at most 80, the hook the rest.
 */
export function renderIndexEntry(entry: IndexEntry, bullet: string = DEFAULT_BULLET): string {
  const target = encodeTarget(entry.fileName)
  const room = INDEX_ENTRY_LENGTH_LIMIT - bullet.length - target.length - '[]()'.length
  const bareName = entry.fileName.replace(EXTENSION, '')
  const title = toSingleLine(entry.title) || toSingleLine(bareName)
  const limit = Math.max(1, Math.min(INDEX_TITLE_LENGTH_LIMIT, room))
  const link = `${bullet}[${escapedTitle(title, limit)}](${target})`
  const hookRoom = INDEX_ENTRY_LENGTH_LIMIT - link.length - HOOK_SEPARATOR.length
  const hook = toSingleLine(entry.hook)
  if (hook === '' || hookRoom < Math.min(hook.length, MIN_HOOK_LENGTH)) return link
  return `${link}${HOOK_SEPARATOR}${truncateText(hook, hookRoom)}`
}

function escapedTitle(title: string, limit: number): string {
  let length = limit
  for (;;) {
    const escaped = truncateText(title, length).replaceAll(TITLE_ESCAPED, String.raw`\$&`)
    if (escaped.length <= limit || length <= 1) return escaped
    length -= Math.max(1, Math.ceil((escaped.length - limit) / 2))
  }
}

function encodeTarget(fileName: string): string {
  return fileName.replaceAll(TARGET_ENCODED, (character) =>
    [...new TextEncoder().encode(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  )
}

/**
 * The file that a link target names.
 * @param target - target without angle brackets, decoded to text.
 * @returns the name without escapes, percent codes and a leading `./`;
 * `undefined` for an address, an absolute or climbing path, or no Markdown file.
 */
export function decodeIndexTarget(target: string): string | undefined {
  if (PLAIN_NAME.test(target)) return target
  let name = unescapeMarkdown(target)
  if (name.includes('%')) name = percentDecoded(name)
  while (name.startsWith('./')) name = name.slice(2)
  if (!EXTENSION.test(name) || name.length <= '.md'.length) return undefined
  if (name.startsWith('/') || name.includes('\\') || SCHEME.test(name)) return undefined
  if (/\p{Control}/u.test(name) || name.split('/').includes('..')) return undefined
  return name
}

function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/**
 * @param text - Markdown text.
 * @returns the text without the backslashes that escape punctuation.
 */
export function unescapeMarkdown(text: string): string {
  return text.includes('\\') ? text.replaceAll(ESCAPED_PUNCTUATION, '$1') : text
}
