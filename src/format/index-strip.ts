/**
 * What is taken out of an index before a model sees it.
 *
 * Role: leading frontmatter and top-level HTML comments, on text only. In doubt
 * text stays: a note that is shown needlessly costs a line, a rule that was
 * taken for frontmatter costs every memory below it. Both parsers are loaded on
 * first need, because most indexes hold neither construct.
 */

import { createRequire } from 'node:module'
import type * as Marked from 'marked'
import { frontmatterLines, isYamlMapping } from './frontmatter.ts'
import { scanIndex } from './index-scan.ts'

const COMMENT_LINE = /^ {0,3}<!--/m
/** `<!-->` and `<!--->` are complete comments. */
const COMPLETE_COMMENT = /<!--(?:-?>|[\s\S]*?-->)/g

let loadedMarked: typeof Marked | undefined

/**
 * Text without its leading frontmatter.
 *
 * @param text - an index; BOM and CRLF allowed.
 * @returns the text after the closing fence and the blank lines below it. The text
 * itself unless its first line and a later one are exactly `---` and the lines
 * between are empty or a YAML mapping without an index entry.
 */
export function stripLeadingFrontmatter(text: string): string {
  const lines = frontmatterLines(text)
  if (lines === undefined) return text
  const between = lines.join('\n')
  if (between.trim() !== '' && !isYamlMapping(between)) return text
  if (scanIndex(between).entries.length > 0) return text
  let rest = text
  for (let count = lines.length + 2; count > 0; count -= 1) {
    const lineFeed = rest.indexOf('\n')
    rest = lineFeed === -1 ? '' : rest.slice(lineFeed + 1)
  }
  return rest.replace(/^(?:[ \t\r]*\n)+/, '')
}

/**
 * Text without the HTML comments that stand as blocks of their own.
 *
 * @param text - an index; `<!--` at a line start makes line endings LF in the result.
 * @returns the text without complete comments at the top level. Comments in code,
 * quotes, lists, paragraphs and other HTML stay, as do unterminated ones.
 */
export function stripTopLevelHtmlComments(text: string): string {
  if (!text.includes('<!--') || !COMMENT_LINE.test(text.replace('\ufeff', ''))) return text
  const source = text.replaceAll(/\r\n?/g, '\n')
  const body = source.startsWith('\ufeff') ? source.slice(1) : source
  const tokens = blockTokens(body)
  if (tokens === undefined) return text
  const kept = tokens.map((token) => {
    const isComment =
      token.type === 'html' && token.raw.trimStart().startsWith('<!--') && token.raw.includes('-->')
    if (!isComment) return token.raw
    const rest = token.raw.replaceAll(COMPLETE_COMMENT, '')
    return rest.trim() === '' ? '' : rest
  })
  return `${body === source ? '' : '\ufeff'}${kept.join('')}`
}

/** @returns top-level tokens whose raw texts make up the source, `undefined` when they do not. */
function blockTokens(source: string): Marked.Token[] | undefined {
  loadedMarked ??= createRequire(import.meta.url)('marked') as typeof Marked
  try {
    const tokens = new loadedMarked.Lexer({ gfm: false }).blockTokens(source, [])
    return tokens.map((token) => token.raw).join('') === source ? tokens : undefined
  } catch {
    return undefined
  }
}
