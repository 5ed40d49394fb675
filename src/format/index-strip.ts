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
/** Twenty containers in a row or an indentation for them: the parser recurses into each. */
const DEEP_LINE = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])){20}|^[ \t]{80}/m
/** Most lines of one list item: the parser reads an item again for each of its lines. */
const ITEM_LINE_LIMIT = 1_000
const LIST_MARKER = /^( *)(?:[-*+]|\d{1,9}[.)])[ \t]/
/** Most characters of a text that is parsed: four times what a session is shown, as it waits for it. */
const TEXT_LENGTH_LIMIT = 100_000
/** Most lines of a quote, those that only go on with it among them: it is read again for each. */
const QUOTE_LINE_LIMIT = 200
/** A quote, also as the beginning of a list item. */
const QUOTE_START = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>/
const QUOTE_MARKERS = /^(?: {0,3}>)+ ?/

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
 * quotes, lists, paragraphs and other HTML stay, as do unterminated ones, and all in
 * a text that is longer than 100,000 characters, whose lists or quotes nest about
 * twenty deep, or that has an item of 1,000 or a quote of 200 lines.
 */
export function stripTopLevelHtmlComments(text: string): string {
  if (!text.includes('<!--') || !COMMENT_LINE.test(text.replace('\ufeff', ''))) return text
  const source = text.replaceAll(/\r\n?/g, '\n')
  const body = source.startsWith('\ufeff') ? source.slice(1) : source
  const tokens = isSafeToParse(body) ? blockTokens(body) : undefined
  if (tokens === undefined) return text
  const kept = tokens.map((token) => {
    const isComment =
      token.type === 'html' && token.raw.trimStart().startsWith('<!--') && token.raw.includes('-->')
    if (!isComment) return token.raw
    const rest = withoutComments(token.raw)
    return rest.trim() === '' ? '' : rest
  })
  return `${body === source ? '' : '\ufeff'}${kept.join('')}`
}

/** @returns whether the Markdown parser can take a text in short time and on a small stack. */
function isSafeToParse(text: string): boolean {
  if (text.length > TEXT_LENGTH_LIMIT || DEEP_LINE.test(text)) return false
  let quoteLines = 0
  let itemLines = 0
  let listIndent = -1
  let isAfterBlank = false
  for (let position = 0; position < text.length; ) {
    const lineFeed = text.indexOf('\n', position)
    const end = lineFeed === -1 ? text.length : lineFeed
    const whole = text.slice(position, end)
    const line = whole.replace(QUOTE_MARKERS, '')
    const indent = LIST_MARKER.exec(line)?.[1]?.length
    const isBlank = line.trim() === ''
    if (indent !== undefined && (listIndent === -1 || indent <= listIndent)) {
      listIndent = indent
      itemLines = 0
    } else if (isAfterBlank && !isBlank && !/^[ \t]/.test(line)) listIndent = -1
    itemLines += 1
    quoteLines =
      whole.trim() === '' ? 0 : quoteLines + Number(quoteLines > 0 || QUOTE_START.test(whole))
    if (quoteLines > QUOTE_LINE_LIMIT) return false
    if (listIndent !== -1 && itemLines > ITEM_LINE_LIMIT) return false
    isAfterBlank = isBlank
    position = end + 1
  }
  return true
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

/** Removes complete comments; `<!-->` and `<!--->` are such. */
function withoutComments(html: string): string {
  let rest = ''
  let position = 0
  for (;;) {
    const start = html.indexOf('<!--', position)
    const end = start === -1 ? -1 : html.indexOf('-->', start + 2)
    if (end === -1) return rest + html.slice(position)
    rest += html.slice(position, start)
    position = end + '-->'.length
  }
}
