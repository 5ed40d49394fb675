/**
 * Description and type from the head of a memory file.
 *
 * Role: finds the frontmatter and asks three readers in turn: the shape that this
 * package writes, YAML, and plain lines for what is not YAML. Pure apart from
 * loading the YAML parser; never throws, whatever the text is. Text outside the two
 * fences is never metadata, so an unclosed block gives none.
 */
import { toOneLine } from './one-line.ts'
import { readKeyValueLines } from './read-lines.ts'
import { readOwnShape } from './read-own-shape.ts'
import { readYaml } from './read-yaml.ts'
import {
  isRecallType,
  MANIFEST_PREVIEW_BYTE_LIMIT,
  MANIFEST_PREVIEW_LINE_LIMIT,
  type ManifestMetadata,
  type RawMetadata,
} from './types.ts'

const FENCE = '---'

/**
 * @param head - the start of a file; a byte-order mark and CRLF are allowed, more
 *   than the first 30 lines is ignored.
 * @returns the description as one physical line and the type, each only if usable:
 *   the type is exactly one of the four, `metadata.type` before the top-level one.
 */
export function readManifestMetadata(head: string): ManifestMetadata {
  const lines = frontmatterLines(head)
  if (lines === undefined) return {}
  return usable(readOwnShape(lines) ?? readYaml(lines) ?? readKeyValueLines(lines))
}

/** The lines between the fences, or `undefined` without two fences. */
function frontmatterLines(head: string): string[] | undefined {
  const bounded = head.slice(head.startsWith('\uFEFF') ? 1 : 0, MANIFEST_PREVIEW_BYTE_LIMIT)
  const lines = bounded.split(/\r?\n/, MANIFEST_PREVIEW_LINE_LIMIT)
  if (lines[0] !== FENCE) return undefined
  const end = lines.indexOf(FENCE, 1)
  return end === -1 ? undefined : lines.slice(1, end)
}

function usable(raw: RawMetadata): ManifestMetadata {
  const metadata: ManifestMetadata = {}
  const description = typeof raw.description === 'string' ? toOneLine(raw.description) : ''
  if (description !== '') metadata.description = description
  const type = [raw.nestedType, raw.topLevelType].find(isRecallType)
  if (type !== undefined) metadata.type = type
  return metadata
}
