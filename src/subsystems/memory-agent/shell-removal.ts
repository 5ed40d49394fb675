/**
 * Decides whether an `rm` removes nothing but memories.
 *
 * Role: one plain `rm` of absolute `.md` paths in the memory directory. No
 * recursion, no pattern, no pipe, no redirection; the index and the trash stay.
 */
import { isAbsolute } from 'node:path'
import { isRemovableMemoryMarkdown, type MemoryDirectories } from './paths.ts'
import type { ShellStage } from './shell-grammar.ts'

/**
 * @param stages - a parsed command whose first word is `rm`.
 * @param directories - where the memories are; all absolute.
 * @returns the first problem, if there is one.
 */
export function problemOfRemoval(
  stages: readonly ShellStage[],
  directories: MemoryDirectories,
): string | undefined {
  const [stage] = stages
  if (stage === undefined || stages.length > 1 || stage.redirections > 0) {
    return 'rm must stand alone, without a pipe or a redirection'
  }
  let ended = false
  let paths = 0
  for (const word of stage.args) {
    const { value } = word
    if (word.pattern !== undefined) return 'rm takes no unquoted * ? [ ]: name each file'
    if (!ended && value.startsWith('-')) {
      if (value !== '--' && value !== '-f') return `rm ${value} is not allowed, only -f and --`
      ended = value === '--'
      continue
    }
    if (!isAbsolute(value)) return `rm needs absolute paths, ${value} is not`
    if (!isRemovableMemoryMarkdown({ ...directories, filePath: value })) {
      return `${value} is not a memory file that may be removed`
    }
    paths += 1
  }
  return paths === 0 ? 'rm needs the path of a memory file' : undefined
}
