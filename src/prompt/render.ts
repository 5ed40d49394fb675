/**
 * The two texts that the plugin adds to a prompt.
 *
 * Role: puts paths and index views into the sentences of `text.ts`. Returns raw
 * text; escaping for the host is the caller's last step. The index stands in a
 * code fence longer than any run of backticks in it, so that no memory can end
 * the frame, and the warning about a cut index stands below it, outside the data.
 */

import { viewIndex } from '../format/index-view.ts'
import type { IndexView } from '../format/index-view.ts'
import {
  MEMORY_INDEX_CHARACTER_LIMIT,
  MEMORY_INDEX_FILE_NAME,
  MEMORY_INDEX_LINE_LIMIT,
} from '../format/limits.ts'
import { toSingleLine } from '../format/text.ts'
import type { IndexLimits } from '../types.ts'
import {
  FORGET_BY_HAND,
  FORGET_WITH_TOOL,
  guidanceLines,
  indexIntroduction,
  unreadableIndexLine,
} from './text.ts'

/** What the guidance describes. */
export interface GuidanceOptions {
  /** Whether `forget_project_memory` is offered; default false, the two manual steps. */
  forgetTool?: boolean
  /** Which sub-agents may save; default `none`. */
  subagents?: 'none' | 'all'
}

const MIN_FENCE_LENGTH = 3
const LINE_BREAKING = /[\p{Control}\u2028\u2029]/gu

/**
 * The guidance: what memory is, how to save, use and forget.
 *
 * @param root - memory directory.
 * @param options - see {@link GuidanceOptions}.
 * @returns Markdown of less than 2,000 characters for a root of 200.
 */
export function renderMemoryGuidance(root: string, options: GuidanceOptions = {}): string {
  const forgetting = options.forgetTool === true ? FORGET_WITH_TOOL : FORGET_BY_HAND
  const directory = codeSpan(`${bareRoot(root)}/`)
  return guidanceLines(directory, forgetting, options.subagents === 'all').join('\n')
}

/**
 * The index as context, from the text of the file.
 *
 * @param root - memory directory.
 * @param index - text of `MEMORY.md`.
 * @param limits - 200 lines and 25,000 code units by default; the first lines stay.
 * @returns the framed index, `''` when there is nothing to show.
 * @throws MemoryError `INVALID_ARGUMENT` for a limit that is not a number of at least 1.
 */
export function renderMemoryContext(root: string, index: string, limits: IndexLimits = {}): string {
  const view = viewIndex(index, {
    lineLimit: limits.lineLimit ?? MEMORY_INDEX_LINE_LIMIT,
    characterLimit: limits.characterLimit ?? MEMORY_INDEX_CHARACTER_LIMIT,
    overflow: 'head',
  })
  return renderIndexContext(root, view)
}

/**
 * The index as context, from a view.
 * @param root - memory directory.
 * @param view - what of the index is shown.
 * @returns the framed index, `''` when there is nothing to show.
 */
export function renderIndexContext(root: string, view: IndexView): string {
  if (view.text === '') return ''
  const body = view.warning === '' ? view.text : view.text.slice(0, -view.warning.length).trimEnd()
  const fence = '`'.repeat(Math.max(MIN_FENCE_LENGTH, longestBacktickRun(body) + 1))
  const lines = [indexIntroduction(indexFileSpan(root)), fence, body, fence]
  if (view.warning !== '') lines.push(view.warning)
  return lines.join('\n')
}

/**
 * What stands in place of an index that cannot be read.
 * @param root - memory directory.
 * @param reason - why, for instance `it is not UTF-8 text`; put on one line, the path at its start
 *   left out.
 * @returns one line.
 */
export function renderUnreadableIndex(root: string, reason: string): string {
  const named = `${bareRoot(root)}/${MEMORY_INDEX_FILE_NAME} `
  const short = reason.startsWith(named) ? `it ${reason.slice(named.length)}` : reason
  return unreadableIndexLine(indexFileSpan(root), toSingleLine(short).replace(/\.+$/, ''))
}

function indexFileSpan(root: string): string {
  return codeSpan(`${bareRoot(root)}/${MEMORY_INDEX_FILE_NAME}`)
}

function bareRoot(root: string): string {
  return root.replace(/[/\\]+$/, '')
}

/** A path as one code span; line breaks in it cannot leave the line. */
function codeSpan(path: string): string {
  const line = path.replaceAll(LINE_BREAKING, '\ufffd')
  const run = longestBacktickRun(line)
  if (run === 0) return `\`${line}\``
  const fence = '`'.repeat(run + 1)
  return `${fence} ${line} ${fence}`
}

function longestBacktickRun(text: string): number {
  // Not by Math.max of all: an index may have more runs than a call may have arguments.
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
