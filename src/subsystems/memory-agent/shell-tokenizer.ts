/**
 * Splits a shell command into words, pipes and the two harmless redirections.
 *
 * Role: the quoting grammar, and nothing that knows a command. It does not
 * expand: what would make the shell compute something is a problem here.
 * Unquoted text is a list of what is allowed, not of what is dangerous, so a
 * character that nobody thought of is refused.
 */

/** Longest command that is looked at, in UTF-16 code units (the reference's limit). */
export const MAX_COMMAND_CHARACTERS = 10_000

/** Stand for pattern characters in {@link ShellWord.pattern}; neither can occur in a command. */
export const WILDCARD = '\0'
export const BRACKET = '\u0001'

/** One word after quote removal. */
export interface ShellWord {
  kind: 'word'
  /** What the command receives, unless the shell expands a pattern in it. */
  value: string
  /** Whether any part was quoted. */
  quoted: boolean
  /**
   * The value with {@link BRACKET} for each unquoted `[` and {@link WILDCARD} for
   * `*`, `?` and `]`; only when there is one of them.
   */
  pattern?: string
}

/** A part of a command; `redirection` is `2>/dev/null` or `2>&1`. */
export type ShellToken = ShellWord | { kind: 'pipe' } | { kind: 'redirection' }

/** The parts in order, or why the command is not understood. */
export type Tokens = { tokens: readonly ShellToken[] } | { problem: string }

/** Space and tab; every other white space outside quotes is refused. */
const BLANK = /[ \t]+/uy
const REDIRECTION = /2>(?:[ \t]*\/dev\/null|&1)(?=[ \t|]|$)/uy
const PIPE = /\|/uy
/** ASCII that means nothing to the shell, or any visible character beyond ASCII. */
const PLAIN = /(?:[\w./=:,@%+-]|(?=[^\0-\x7f])[\p{L}\p{M}\p{N}\p{P}\p{S}])+/uy
const GLOB = /[*?[\]]/uy
const SINGLE_QUOTED = /'([^'`]*)'/uy
const DOUBLE_QUOTED = /"([^"\\$`!]*)"/uy

/** Bytes that some program on the way may read as an end, or that nobody sees. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/u

/**
 * @param command - as the model wrote it.
 * @returns its parts; a problem names the first thing that is not understood
 *   and what to write instead.
 */
export function tokenizeCommand(command: string): Tokens {
  if (command.length > MAX_COMMAND_CHARACTERS) {
    return { problem: `the command is longer than ${MAX_COMMAND_CHARACTERS} characters` }
  }
  if (/[\r\n]/u.test(command)) return { problem: 'the command must be a single line' }
  if (UNSEEN.test(command.replaceAll('\t', ' '))) {
    return { problem: 'the command contains a control or invisible character' }
  }
  const reader = new Reader(command)
  const tokens: ShellToken[] = []
  while (!reader.atEnd()) {
    if (reader.take(BLANK) !== undefined) continue
    if (reader.take(REDIRECTION) !== undefined) tokens.push({ kind: 'redirection' })
    else if (reader.followsBeyondAscii() && reader.take(PIPE) !== undefined) {
      // A shell in GBK or Big5 reads the last byte before it and the | as one character.
      return { problem: 'put a blank before |' }
    } else if (reader.take(PIPE) !== undefined) tokens.push({ kind: 'pipe' })
    else {
      const word = readWord(reader)
      if (word === undefined) return { problem: problemAt(reader.rest()) }
      tokens.push(word)
    }
  }
  return { tokens }
}

/** Matches sticky patterns one after the other. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  atEnd(): boolean {
    return this.#at >= this.#text.length
  }

  /** Whether a blank or a pipe ends the word here. */
  atBreak(): boolean {
    return ' \t|'.includes(this.#text.charAt(this.#at))
  }

  /** Whether the character before this place is none of ASCII. */
  followsBeyondAscii(): boolean {
    return this.#at > 0 && this.#text.charCodeAt(this.#at - 1) > 0x7f
  }

  rest(): string {
    return this.#text.slice(this.#at)
  }

  /** @returns the first group or the whole match, `undefined` when there is none here. */
  take(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at
    const match = sticky.exec(this.#text)
    if (match === null) return undefined
    this.#at = sticky.lastIndex
    return match[1] ?? match[0]
  }
}

/** Reads up to a blank, a pipe or the end; nothing when a character before that is not allowed. */
function readWord(reader: Reader): ShellWord | undefined {
  let value = ''
  let pattern = ''
  let quoted = false
  let globs = false
  while (!reader.atEnd() && !reader.atBreak()) {
    const plain = reader.take(PLAIN)
    const glob = plain === undefined ? reader.take(GLOB) : undefined
    const text = plain ?? glob ?? reader.take(SINGLE_QUOTED) ?? reader.take(DOUBLE_QUOTED)
    if (text === undefined) return undefined
    if (plain === undefined && glob === undefined) quoted = true
    if (glob !== undefined) globs = true
    value += text
    pattern += glob === undefined ? text : glob === '[' ? BRACKET : WILDCARD
  }
  if (value === '' && !quoted) return undefined
  return globs ? { kind: 'word', value, quoted, pattern } : { kind: 'word', value, quoted }
}

/** Names the construct at the start of `rest`. */
function problemAt(rest: string): string {
  const character = String.fromCodePoint(rest.codePointAt(0) ?? 0)
  if (character === '"' || character === "'") {
    if (!rest.includes(character, 1)) return `a ${character} is not closed`
    const inside = character === '"' ? '\\ $ ! or `' : '`'
    return `${inside} is not allowed between ${character}${character}; search such text with the grep tool`
  }
  if ('<>'.includes(character)) return 'of redirections only 2>/dev/null and 2>&1 are allowed'
  if (';&|(){}'.includes(character)) {
    return `${character} is not allowed outside quotes: one command, or commands joined by single |`
  }
  if ('$`\\!'.includes(character)) {
    return `${character} is not allowed: nothing is expanded here, write the plain text`
  }
  if (character === '~') return 'write the whole path instead of ~'
  return `put ${character} in single quotes`
}
