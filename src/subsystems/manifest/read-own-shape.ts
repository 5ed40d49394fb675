/**
 * Fast reader for frontmatter of the shape that this package writes.
 *
 * Role: spares the YAML parser for the files that make up nearly every memory
 * folder. Pure. Accepts only lines whose YAML meaning is certain: double-quoted
 * strings that are also JSON, and bare lower-case words; everything else is left to the
 * next reader. Of a repeated key the last counts, as there.
 */
import type { RawMetadata } from './types.ts'

const TOP_LEVEL_KEYS = new Set(['name', 'description'])
const NESTED_KEYS = new Set(['type', 'node_type', 'title', 'originSessionId'])
const NESTED_INDENT = '  '
const WORD = /^[a-z]+$/

/**
 * @param lines - between the fences, without line breaks.
 * @returns what the frontmatter says, or `undefined` when it has another shape.
 */
export function readOwnShape(lines: readonly string[]): RawMetadata | undefined {
  const values = new Map<string, string>()
  for (const line of lines) {
    if (line === 'metadata:' && !values.has('metadata')) {
      values.set('metadata', '')
      continue
    }
    const pair = readPair(line, values.has('metadata'))
    if (pair === undefined) return undefined
    values.set(pair.key, pair.value)
  }
  if (values.size === 0) return undefined
  return { description: values.get('description'), nestedType: values.get('type') }
}

function readPair(line: string, isNested: boolean): { key: string; value: string } | undefined {
  const start = isNested ? NESTED_INDENT.length : 0
  const colon = line.indexOf(': ', start)
  if (colon === -1 || (isNested && !line.startsWith(NESTED_INDENT))) return undefined
  const key = line.slice(start, colon)
  if (!(isNested ? NESTED_KEYS : TOP_LEVEL_KEYS).has(key)) return undefined
  const value = readValue(line.slice(colon + 2), isNested)
  return value === undefined ? undefined : { key, value }
}

function readValue(text: string, isWordAllowed: boolean): string | undefined {
  if (isWordAllowed && WORD.test(text)) return text
  // JSON allows more white space around a value than YAML does.
  if (!text.startsWith('"') || !text.endsWith('"')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    // Not a JSON string; it may still be YAML.
    return undefined
  }
}
