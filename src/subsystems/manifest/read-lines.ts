/**
 * Last reader, for frontmatter that is not YAML.
 *
 * Role: people and models write descriptions with a colon, quotes or brackets and
 * forget to quote them; such a memory still gets its text and type. Pure. Reads one
 * line at a time and knows no block scalars, comments or escapes but `\"` and `\\`.
 */
import type { RawMetadata } from './types.ts'

const PAIR = /^([ \t]*)(description|metadata|type)[ \t]*:(?:[ \t]+(.*))?$/

/**
 * @param lines - between the fences, without line breaks.
 * @returns what can be told, the last one of a repeated key. `type` counts as nested
 *   only directly below an empty `metadata:`, at the indent of its first child.
 */
export function readKeyValueLines(lines: readonly string[]): RawMetadata {
  const raw: RawMetadata = {}
  let childIndent: string | undefined
  let isInMetadata = false
  for (const line of lines) {
    const indent = /^[ \t]*/.exec(line)?.[0] ?? ''
    if (indent.length === line.length) continue
    const [, , key, text = ''] = PAIR.exec(line) ?? []
    const value = unquote(text.trim())
    if (indent === '') {
      isInMetadata = key === 'metadata' && value === ''
      childIndent = undefined
      if (key === 'description' && hasWord(value)) raw.description = value
      if (key === 'type') raw.topLevelType = value
    } else if (isInMetadata) {
      childIndent ??= indent
      if (key === 'type' && indent === childIndent) raw.nestedType = value
    }
  }
  return raw
}

/** A value of punctuation alone, such as a block indicator, says nothing. */
function hasWord(value: string): boolean {
  return /[\p{L}\p{N}]/u.test(value)
}

function unquote(value: string): string {
  const quote = value.length > 1 ? value.at(-1) : undefined
  if ((quote !== '"' && quote !== "'") || !value.startsWith(quote)) return value
  const inner = value.slice(1, -1)
  return quote === '"' ? inner.replace(/\\(["\\])/g, '$1') : inner.replaceAll("''", "'")
}
