/**
 * The origin of a memory file that was written by hand.
 *
 * Role: puts `node_type` and `originSessionId` into the frontmatter of a text
 * that a model wrote itself. Only ranges of the source are edited, because a
 * YAML library that writes the header again folds long lines and moves
 * brackets. The edited header is parsed once more and must say exactly what the
 * old one said plus the two keys; anything else leaves the text as it was.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Document, Pair, ParsedNode, YAMLMap } from 'yaml'
import { isMap, isScalar, parseDocument } from 'yaml'

/** Longest header that is looked at, in code units, as when memories are read (64 Ki). */
const HEADER_LENGTH_LIMIT = 65_536

const FENCE = '---'
const METADATA = 'metadata'
const NODE_TYPE = 'node_type'
const ORIGIN = 'originSessionId'
const MEMORY = 'memory'
const PRINTABLE = /^[\x20-\x7e]+$/
/** Deeper by as much as the memory files that we write ourselves. */
const INDENT = '  '

interface Header {
  /** First character after the opening fence's line. */
  start: number
  /** First character of the closing fence. */
  end: number
  source: string
  lineEnding: string
}

interface Edit {
  start: number
  end: number
  text: string
}

type Root = YAMLMap.Parsed | undefined

/**
 * Stamp a memory file with where it comes from.
 *
 * @param text - the whole file; BOM, CRLF and comments stay.
 * @param sessionId - the session that writes it.
 * @returns the text with `node_type: memory` as first and `originSessionId` as last key of
 * `metadata`, or with a value put right in its place; the text itself when it has an origin already,
 * has no closed frontmatter, or leaves a doubt. Never throws.
 */
export function stampMemoryFile(text: string, sessionId: string): string {
  try {
    return stamped(text, sessionId) ?? text
  } catch {
    return text
  }
}

function stamped(text: string, sessionId: string): string | undefined {
  const header = findHeader(text)
  if (header === undefined || !PRINTABLE.test(sessionId)) return undefined
  const document = parse(header.source)
  const { contents } = document
  if (document.errors.length > 0 || (contents !== null && !isMap(contents))) return undefined
  const root = contents ?? undefined
  if (hasOrigin(root)) return undefined
  const value = JSON.stringify(sessionId)
  const edits = editsOf(root, header, value)
  if (edits === undefined) return undefined
  const source = apply(header.source, edits)
  if (!saysTheSame(document, parse(source), sessionId)) return undefined
  return text.slice(0, header.start) + source + text.slice(header.end)
}

/** @returns where the header stands, `undefined` unless both fences are lines of exactly `---`. */
function findHeader(text: string): Header | undefined {
  const first = text.startsWith('\ufeff') ? 1 : 0
  const opening = /^---(\r?\n)/.exec(text.slice(first, first + FENCE.length + 2))
  if (opening?.[1] === undefined) return undefined
  const start = first + opening[0].length
  const window = text.slice(start, start + HEADER_LENGTH_LIMIT)
  const length = /(?<![^\n])---(?=\r?\n|(?![^]))/.exec(window)?.index
  if (length === undefined || !isFenceAt(text, start + length)) return undefined
  const source = window.slice(0, length)
  return { start, end: start + length, source, lineEnding: opening[1] }
}

/** The window may have cut the rest of a longer line off. */
function isFenceAt(text: string, position: number): boolean {
  return ['', '\r', '\n'].includes(text.charAt(position + FENCE.length))
}

function parse(source: string): Document.Parsed {
  return parseDocument(source, { prettyErrors: false, logLevel: 'silent', version: '1.2' })
}

/** @returns whether the file names its author: in `metadata`, or at the top in the older layout. */
function hasOrigin(root: Root): boolean {
  const metadata = pairOf(root, METADATA)?.value
  const inner = isMap(metadata) ? pairOf(metadata, ORIGIN) : undefined
  return [inner, pairOf(root, ORIGIN)].some((pair) => {
    const value = isScalar(pair?.value) ? pair.value.value : undefined
    return typeof value === 'string' && value !== ''
  })
}

type ParsedPair = Pair<ParsedNode, ParsedNode | null>

function pairOf(map: Root, key: string): ParsedPair | undefined {
  return map?.items.find((pair) => isScalar(pair.key) && pair.key.value === key)
}

/** @returns the edits of the header's source, `undefined` when it has a shape that is left alone. */
function editsOf(root: Root, header: Header, value: string): Edit[] | undefined {
  const pair = pairOf(root, METADATA)
  if (pair === undefined) return addMetadata(root, header, value)
  const metadata = pair.value
  if (!isMap(metadata) || metadata.anchor !== undefined) return undefined
  const [first] = metadata.items
  const last = metadata.items.at(-1)
  if (first === undefined || last === undefined) return fillEmptyFlow(metadata, header, value)
  const isFlow = metadata.flow === true
  const indent = isFlow ? '' : indentOf(first, header.source)
  if (indent === undefined) return undefined
  const line = (text: string): string => `${indent}${text}${header.lineEnding}`
  const edits = [
    replaceOrInsert(pairOf(metadata, NODE_TYPE), MEMORY, header.source, () =>
      isFlow
        ? insertion(first.key.range[0], `${NODE_TYPE}: ${MEMORY}, `)
        : insertion(nextLine(header.source, pair.key.range[1]), line(`${NODE_TYPE}: ${MEMORY}`)),
    ),
    replaceOrInsert(pairOf(metadata, ORIGIN), value, header.source, () =>
      isFlow
        ? insertion(endOf(last), `, ${ORIGIN}: ${value}`)
        : insertion(nextLine(header.source, endOf(last)), line(`${ORIGIN}: ${value}`)),
    ),
  ]
  return edits.every((edit) => edit !== undefined) ? edits : undefined
}

function addMetadata(
  root: Root,
  { source, lineEnding }: Header,
  value: string,
): Edit[] | undefined {
  const [first] = root?.items ?? []
  const indent = first === undefined ? '' : indentOf(first, source)
  if (indent === undefined) return undefined
  const lines = [`${METADATA}:`, `${INDENT}${NODE_TYPE}: ${MEMORY}`, `${INDENT}${ORIGIN}: ${value}`]
  const text = lines.map((line) => `${indent}${line}${lineEnding}`).join('')
  return [insertion(source.length, text)]
}

function fillEmptyFlow(map: YAMLMap.Parsed, { source }: Header, value: string): Edit[] | undefined {
  const [start, end] = map.range
  if (!/^\{\s*\}$/.test(source.slice(start, end))) return undefined
  return [{ start, end, text: `{ ${NODE_TYPE}: ${MEMORY}, ${ORIGIN}: ${value} }` }]
}

/** Edit the value of a key that is there, or insert the key. */
function replaceOrInsert(
  pair: ParsedPair | undefined,
  text: string,
  source: string,
  insert: () => Edit,
): Edit | undefined {
  if (pair === undefined) return insert()
  const { value } = pair
  if (!isScalar(value)) return undefined
  const [start, end] = value.range
  if (value.value === MEMORY && text === MEMORY) return insertion(start, '')
  const before = /\s/.test(source.charAt(start - 1)) ? '' : ' '
  const after = source.charAt(end) === '#' ? ' ' : ''
  return { start, end, text: before + text + after }
}

function insertion(position: number, text: string): Edit {
  return { start: position, end: position, text }
}

/** @returns the blanks before a key, `undefined` when something else stands there. */
function indentOf({ key }: ParsedPair, source: string): string | undefined {
  const [start] = key.range
  const before = source.slice(source.lastIndexOf('\n', start - 1) + 1, start)
  return /^ *$/.test(before) ? before : undefined
}

function endOf({ key, value }: ParsedPair): number {
  return (value ?? key).range[1]
}

/** @returns the start of the first line that begins at or after a position. */
function nextLine(source: string, position: number): number {
  const end = source.indexOf('\n', position - 1)
  return end === -1 ? source.length : end + 1
}

function apply(source: string, edits: readonly Edit[]): string {
  const ordered = [...edits].sort((one, other) => other.start - one.start)
  return ordered.reduce((text, { start, end, text: inserted }) => {
    return text.slice(0, start) + inserted + text.slice(end)
  }, source)
}

/** @returns whether the new header is the old one with the two keys set. */
function saysTheSame(before: Document, after: Document, sessionId: string): boolean {
  if (after.errors.length > 0) return false
  const expected = (before.toJS({ mapAsMap: true }) ?? new Map()) as Map<unknown, unknown>
  const metadata = (expected.get(METADATA) ?? new Map()) as Map<unknown, unknown>
  metadata.set(NODE_TYPE, MEMORY)
  metadata.set(ORIGIN, sessionId)
  expected.set(METADATA, metadata)
  return isDeepStrictEqual(after.toJS({ mapAsMap: true }), expected)
}
