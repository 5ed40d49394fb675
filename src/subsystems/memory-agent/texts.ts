/**
 * What the model is told when one of its calls is refused.
 *
 * Role: wording only. Every refusal says what is allowed and where, because the
 * agent has few turns and must be able to correct itself in the next one.
 */

/** Most UTF-16 code units of a refused argument that are quoted back. */
const MAX_PROBLEM_CHARACTERS = 300

/**
 * @param name - as the model called it.
 * @returns the whole text for a tool that was not offered.
 */
export function unavailableToolText(name: string): string {
  return `No such tool available: ${name}`
}

/**
 * @param rootDir - the memory directory, quoted verbatim.
 * @param problem - what was wrong with this call; a clause without a full stop.
 */
export function refusedToolText(rootDir: string, problem?: string): string {
  return [
    `Refused${because(problem)}.`,
    'You may call read, grep and glob freely;',
    'write and edit with the file_path of a .md file inside',
    `${rootDir} (no links, no tool or editor folders);`,
    'bash to look at files, and rm for single .md files in that folder.',
    'Nothing else is available to you.',
  ].join(' ')
}

/**
 * @param rootDir - the memory directory, quoted verbatim.
 * @param commands - the names of the commands that only read.
 * @param problem - what was wrong with this command; a clause without a full stop.
 */
export function refusedCommandText(
  rootDir: string,
  commands: readonly string[],
  problem?: string,
): string {
  return [
    `Command refused${because(problem)}.`,
    `bash runs ${commands.join(', ')} with options that only read, alone or joined by |,`,
    "for example: grep -rn 'staging' docs | head -n 20.",
    `It also runs rm for absolute .md paths inside ${rootDir},`,
    `for example: rm -f '${rootDir}/old-rule.md'.`,
    'Put other text in single quotes; variables, ~, ; and && are not available.',
  ].join(' ')
}

/**
 * @param name - the called tool.
 * @returns the answer to arguments that are not one JSON object.
 */
export function malformedArgumentsText(name: string): string {
  return `The arguments of ${name} must be one complete JSON object. Call it again with one.`
}

function because(problem: string | undefined): string {
  if (problem === undefined) return ''
  const short = problem.length <= MAX_PROBLEM_CHARACTERS
  return `: ${short ? problem : `${problem.slice(0, MAX_PROBLEM_CHARACTERS).replace(/\p{Cs}$/u, '')}…`}`
}
