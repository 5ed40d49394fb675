/**
 * YAML reader for frontmatter of any shape.
 *
 * Role: looks up three keys in the parsed tree. Never turns the document into plain
 * values, so nested aliases are not expanded, whatever they would grow to. The
 * parser is loaded at the first call, because most folders never need it.
 */
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { RawMetadata } from './types.ts'

/** Longest text given to the parser, in code units; real frontmatter has under 4,000. */
const MAX_YAML_CHARACTERS = 8192

/** Whatever opens, closes, separates, tags, anchors or nests a node. */
const STRUCTURE = /["[\]{}&!,]|[-?:](?:\s|$)/g

/**
 * Most of these marks: the parser recurses per open node and collects an error per
 * stray mark, so that 8,192 of them take it 100 ms; 300 take a few.
 */
const MAX_STRUCTURE_MARKS = 300

let parser: typeof Yaml | undefined

/**
 * @param lines - between the fences, without line breaks.
 * @returns the raw values, last one of a repeated key; all absent when the document
 *   is no mapping; `undefined` when it is not YAML or too much to parse.
 */
export function readYaml(lines: readonly string[]): RawMetadata | undefined {
  const text = lines.join('\n')
  if (text.length > MAX_YAML_CHARACTERS || countMarks(text) > MAX_STRUCTURE_MARKS) return undefined
  try {
    parser ??= createRequire(import.meta.url)('yaml') as typeof Yaml
    return lookUp(parser, text)
  } catch {
    // The parser recurses: nesting deeper than the stack ends here.
    return undefined
  }
}

function countMarks(text: string): number {
  return text.match(STRUCTURE)?.length ?? 0
}

function lookUp(yaml: typeof Yaml, text: string): RawMetadata | undefined {
  const document = yaml.parseDocument(text, {
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  })
  if (document.errors.length > 0) return undefined
  const valueOf = (node: unknown, key: string): unknown => {
    if (!yaml.isMap(node)) return undefined
    const pair = node.items.findLast((item) => yaml.isScalar(item.key) && item.key.value === key)
    return yaml.isAlias(pair?.value) ? pair.value.resolve(document) : pair?.value
  }
  const scalarOf = (node: unknown, key: string): unknown => {
    const value = valueOf(node, key)
    return yaml.isScalar(value) ? value.value : undefined
  }
  const root = document.contents
  return {
    description: scalarOf(root, 'description'),
    nestedType: scalarOf(valueOf(root, 'metadata'), 'type'),
    topLevelType: scalarOf(root, 'type'),
  }
}
