/**
 * Reading the header of a memory file.
 *
 * Role: two readers of one header. The first takes only the exact shape that
 * `memory-file.ts` writes and needs no library; the second loads `yaml` on first
 * need and copes with everything else. Neither throws: a memory with a damaged
 * header is still a memory.
 */

import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { MemoryRecallType } from '../types.ts'
import { MEMORY_RECALL_TYPES } from './limits.ts'

/** Header values of one memory file; absent when missing, empty or not a string. */
export interface MemoryHeader {
  name?: string
  description?: string
  type?: MemoryRecallType
  title?: string
  originSessionId?: string
}

type Field = keyof MemoryHeader

/** Longest text for the YAML parser, in code units: anchors cost it quadratic time. */
const PARSED_LENGTH_LIMIT = 16_384
/** Deepest nesting for the YAML parser, which recurses; a stack that runs out can end the process. */
const PARSED_DEPTH_LIMIT = 64
/** A line indented, or with block markers in a row, beyond that depth. */
const DEEP_LINE = /^[ \t]{128}|(?:[-?:][ \t]+){64}/m
const FENCE = '---'
const QUOTED_LINE = /^(name|description| {2}title| {2}originSessionId): ("(?:[^"\\]|\\.)*")$/
const PLAIN_LINE = /^ {2}(type|node_type): ([a-z]+)$/
const SIMPLE_LINE = /^([ \t]*)([A-Za-z_]+):(?:[ \t]+(.*))?$/

let loadedYaml: typeof Yaml | undefined

/** @returns the `yaml` library, loaded at the first call. */
function loadYaml(): typeof Yaml {
  loadedYaml ??= createRequire(import.meta.url)('yaml') as typeof Yaml
  return loadedYaml
}

/**
 * The lines between the fences of leading frontmatter.
 *
 * @param text - a file; BOM and CRLF allowed.
 * @returns lines without line endings, `undefined` when the first line is not exactly
 * `---` or no later line is.
 */
export function frontmatterLines(text: string): string[] | undefined {
  let position = text.startsWith('\ufeff') ? 1 : 0
  let lines: string[] | undefined
  while (position <= text.length) {
    const lineEnd = text.indexOf('\n', position)
    const end = lineEnd === -1 ? text.length : lineEnd
    const hasReturn = end > position && text.charAt(end - 1) === '\r'
    const line = text.slice(position, hasReturn ? end - 1 : end)
    if (lines === undefined) {
      if (line !== FENCE) return undefined
      lines = []
    } else if (line === FENCE) return lines
    else lines.push(line)
    position = end + 1
  }
  return undefined
}

/**
 * Reads the shape that we write: known keys, quoted values or a bare word for a type.
 * @param lines - lines between the fences.
 * @returns the header, `undefined` when any line has another shape.
 */
export function readWrittenShape(lines: readonly string[]): MemoryHeader | undefined {
  const header: Record<string, string> = {}
  let isInMetadata = false
  for (const line of lines) {
    if (line === 'metadata:') {
      if (isInMetadata) return undefined
      isInMetadata = true
      continue
    }
    const match = QUOTED_LINE.exec(line) ?? PLAIN_LINE.exec(line)
    const key = match?.[1]?.trim()
    const raw = match?.[2]
    if (key === undefined || raw === undefined) return undefined
    if (line.startsWith('  ') !== isInMetadata) return undefined
    const value = raw.startsWith('"') ? parseJsonString(raw) : raw
    if (value === undefined) return undefined
    header[key] = value
  }
  return toHeader((field) => header[field])
}

function parseJsonString(raw: string): string | undefined {
  try {
    const value: unknown = JSON.parse(raw)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads any header: with the YAML parser, and line by line when YAML refuses it.
 * @param lines - lines between the fences.
 * @returns what could be read; never throws.
 */
export function readWithParser(lines: readonly string[]): MemoryHeader {
  const text = lines.join('\n')
  if (isSafeToParse(text)) {
    try {
      const header = readYaml(text)
      if (header !== undefined) return header
    } catch {
      // Broken beyond the parser's own errors; the lines may still be readable.
    }
  }
  return readSimpleLines(lines)
}

/** @returns whether the YAML parser can take a text in short time and on a small stack. */
function isSafeToParse(text: string): boolean {
  if (text.length > PARSED_LENGTH_LIMIT || DEEP_LINE.test(text)) return false
  let depth = 0
  for (let position = 0; position < text.length; position += 1) {
    const character = text.charAt(position)
    if (character === '[' || character === '{') depth += 1
    else if (depth > 0 && (character === ']' || character === '}')) depth -= 1
    if (depth > PARSED_DEPTH_LIMIT) return false
  }
  return true
}

function readYaml(text: string): MemoryHeader | undefined {
  const yaml = loadYaml()
  const document = yaml.parseDocument(text, {
    prettyErrors: false,
    logLevel: 'silent',
    uniqueKeys: false,
    version: '1.2',
  })
  if (document.errors.length > 0) return undefined
  const root = document.contents
  if (!yaml.isMap(root)) return {}
  const metadata = resolved(document, lastValue(root, 'metadata'))
  const inner = yaml.isMap(metadata) ? metadata : undefined
  const value = (source: Yaml.YAMLMap | undefined, key: string): string | undefined =>
    scalarText(resolved(document, lastValue(source, key)))
  return toHeader((field) => {
    if (field === 'name' || field === 'description') return value(root, field)
    if (field === 'title') return value(inner, field)
    if (field === 'type') return asType(value(inner, field)) ?? value(root, field)
    return value(inner, field) ?? value(root, field)
  })
}

/** Of a repeated key the last value counts, as in the manifest. */
function lastValue(map: Yaml.YAMLMap | undefined, key: string): unknown {
  const yaml = loadYaml()
  return map?.items.findLast(({ key: node }) => yaml.isScalar(node) && node.value === key)?.value
}

/** Follows at most one alias: a header value is a scalar, chains only serve bombs. */
function resolved(document: Yaml.Document, node: unknown): Yaml.Node | undefined {
  const yaml = loadYaml()
  if (yaml.isAlias(node)) return node.resolve(document)
  return yaml.isNode(node) ? node : undefined
}

/** @returns the text of a scalar as written (`0123` stays `0123`); null and collections have none. */
function scalarText(node: Yaml.Node | undefined): string | undefined {
  if (!loadYaml().isScalar(node)) return undefined
  const { value, source } = node
  if (typeof value === 'string') return value
  return value === null || value === undefined ? undefined : (source ?? undefined)
}

function readSimpleLines(lines: readonly string[]): MemoryHeader {
  const top: Record<string, string> = Object.create(null)
  const inner: Record<string, string> = Object.create(null)
  let isInMetadata = false
  for (const line of lines) {
    const match = SIMPLE_LINE.exec(line)
    const key = match?.[2]
    if (match === null || key === undefined) continue
    if (match[1] === '') isInMetadata = key === 'metadata'
    else if (!isInMetadata) continue
    const target = match[1] === '' ? top : inner
    const value = simpleValue(match[3] ?? '')
    if (value !== '') target[key] = value
  }
  return toHeader((field) => {
    if (field === 'name' || field === 'description') return top[field]
    if (field === 'title') return inner[field]
    if (field === 'type') return asType(inner[field]) ?? top[field]
    return inner[field] ?? top[field]
  })
}

/** A value as a person reads it: without its outer quotes, nothing when it is only punctuation. */
function simpleValue(raw: string): string {
  const trimmed = raw.trim()
  if (!/[\p{L}\p{N}]/u.test(trimmed) || /^[&*|>]/.test(trimmed)) return ''
  const quote = trimmed.charAt(0)
  const isQuoted = trimmed.length > 1 && /["']/.test(quote) && trimmed.endsWith(quote)
  return isQuoted ? trimmed.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : trimmed
}

function asType(value: string | undefined): MemoryRecallType | undefined {
  return MEMORY_RECALL_TYPES.find((type) => type === value)
}

function toHeader(read: (field: Field) => string | undefined): MemoryHeader {
  const header: MemoryHeader = {}
  for (const field of ['name', 'description', 'title', 'originSessionId'] as const) {
    const value = read(field)
    if (value !== undefined && value !== '') header[field] = value
  }
  const type = asType(read('type'))
  return type === undefined ? header : { ...header, type }
}

/**
 * @param text - lines between fences.
 * @returns whether they are a YAML mapping without errors; false for one that is very long or deep.
 */
export function isYamlMapping(text: string): boolean {
  if (!isSafeToParse(text)) return false
  try {
    const yaml = loadYaml()
    const document = yaml.parseDocument(text, { prettyErrors: false, logLevel: 'silent' })
    return document.errors.length === 0 && yaml.isMap(document.contents)
  } catch {
    return false
  }
}
