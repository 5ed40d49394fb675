/**
 * Reading a shell command that is nothing but one plain `rm`.
 *
 * Role: pure. Knows words, plain quotes and two options; everything that a shell
 * would expand, join or redirect makes it another command, which is left to the
 * host. Does not judge the paths.
 */

/** What a plain `rm` names. */
export interface RemovalCommand {
  /** Words after the options, quotes taken off. */
  paths: string[]
  /** Whether missing files are no error (`-f`). */
  isForced: boolean
}

/** A run of characters that no shell gives a meaning to, or a quoted part without any expansion. */
const PART = /[\p{L}\p{M}\p{N}_.,:@%+/-]+|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*"/uy
const BLANKS = /[ \t]+/uy

/** @returns the match that begins at a position, or `undefined`. */
function matchAt(pattern: RegExp, text: string, position: number): string | undefined {
  pattern.lastIndex = position
  return pattern.exec(text)?.[0]
}

/** @returns the words of a line without any shell syntax but plain quotes, or `undefined`. */
function plainWords(line: string): string[] | undefined {
  const words: string[] = []
  let isInWord = false
  for (let at = 0; at < line.length; ) {
    const blanks = matchAt(BLANKS, line, at)
    const part = blanks === undefined ? matchAt(PART, line, at) : undefined
    if (blanks === undefined && part === undefined) return undefined
    at += (blanks ?? part ?? '').length
    if (part !== undefined) {
      const text = /^['"]/u.test(part) ? part.slice(1, -1) : part
      words.push(isInWord ? (words.pop() ?? '') + text : text)
    }
    isInWord = part !== undefined
  }
  return words
}

/**
 * Read a command as `rm [-f] [--] path…`.
 * @param command - one line of shell.
 * @returns what it names, at least one path; `undefined` for every other command.
 */
export function parseRemovalCommand(command: string): RemovalCommand | undefined {
  const [name, ...rest] = plainWords(command) ?? []
  if (name !== 'rm') return undefined
  let isForced = false
  while (rest[0]?.startsWith('-') === true) {
    const option = rest.shift()
    if (option === '--') break
    if (option !== '-f') return undefined
    isForced = true
  }
  return rest.length === 0 ? undefined : { paths: rest, isForced }
}
