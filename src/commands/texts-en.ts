/**
 * What people read, in English.
 *
 * Role: every sentence of the commands that is not data; `texts-zh.ts` has the
 * same in Chinese. Values arrive ready for the screen. No sentence here is sent
 * to a model.
 */

const UNITS = ['bytes', 'KB', 'MB'] as const

function plural(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

function memories(count: number): string {
  return plural(count, 'memory', 'memories')
}

/** The sentences by the place where they stand. */
export const ENGLISH = {
  locale: 'en',
  size(bytes: number): string {
    let value = bytes
    let unit = 0
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024
      unit += 1
    }
    return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`
  },

  usage: (command: string) => `${command} shows and tends the memory of this project:
  list              all memories, most recently written first
  show NAME         one memory whole; NAME is its title or file name
  search WORDS      memories with all these words in title, description or text
  forget NAME       forget one; undo brings it back (with --purge nothing is kept)
  undo [NAME]       bring back what was forgotten last, or NAME
  why               what the model was given of the memory, and what was left out
  doctor            what crashes or edits by hand left behind; doctor fix mends it
  where             the folders and files`,
  shellUsage: (command: string) => `  import --from zcode|claude-code [--folder DIR] [--apply]
                    copy the memories of this project from another program;
                    without --apply only a preview
  export [--output FILE] [--format markdown|json] [--force]
                    all memories as one text, or as a file; --force replaces it

Options: --project DIR (default: the current directory), --json, --help, --version
Exit codes: 0 done, 1 findings, nothing found or refused, 2 wrong usage,
            3 the disk or another process is in the way
The memories lie in $DSH_HOME (default ~/.dsh). Run ${command} where for the exact place.`,
  /** What is wrong with the words of a shell call; each is one line. */
  usageProblems: {
    noCommand: 'a command is missing',
    notACommand: (word: string) => `"${word}" is no command`,
    needsName: (verb: string) => `${verb} needs a title or file name`,
    needsWords: (verb: string) => `${verb} needs words to look for`,
    takesNoWord: (verb: string, word: string) => `${verb} takes no "${word}"`,
    takesNoOption: (verb: string, option: string) => `${verb} takes no --${option}`,
    optionMissing: (option: string, allowed: readonly string[]) =>
      `--${option} is missing; write --${option} ${allowed.join(' or ')}`,
    optionValue: (option: string, value: string, allowed: readonly string[]) =>
      `--${option} cannot be "${value}"; write --${option} ${allowed.join(' or ')}`,
    emptyOutput: '--output needs a file, or - for the standard output',
    emptyProject: '--project needs a directory',
  },
  noProjectThere: (project: string) =>
    `${project} is no directory and has no memory; check --project`,
  seeHelp: (command: string) => `Run ${command} --help for the commands and options.`,
  unknownVerb: (verb: string, command: string) =>
    `"${verb}" is none of the commands.\n\n${ENGLISH.usage(command)}`,
  takesNothing: (call: string, rest: string) =>
    `${call} takes nothing behind it, so not "${rest}"; it is about the project of this session.`,
  needsName: (verb: string, command: string) =>
    `Which memory? Write ${command} ${verb} NAME with its title or file name.`,
  needsWords: (command: string) => `Which words? Write ${command} search WORDS.`,
  noProject:
    'This session has no working directory, so it belongs to no project and has no memory.',

  listed: (count: number, project: string) => `${memories(count)} of ${project}`,
  noneYet: (project: string) => `No memories yet for ${project}.`,
  noneHint: 'Ask the model to remember something, and it is here.',
  memoryAbove: (directory: string) =>
    `${directory} has a memory; for that one add --project "${directory}".`,
  memoryAboveSession: (directory: string) =>
    `${directory} has a memory; it is given to sessions that are started there.`,
  indexUnreadable: (reason: string) => `The index cannot be read: ${reason}`,
  notIndexed: 'not in the index (doctor fix adds it)',
  fileMissing: 'its file is missing (doctor fix removes the line)',
  unreadable: (reason: string) => `cannot be read: ${reason}`,

  fileLabel: 'File',
  typeLabel: 'Type',
  writtenLabel: 'Written',
  sessionLabel: 'Session',
  descriptionLabel: 'Description',
  cutBody: (rest: string, path: string) => `… ${rest} more; the whole text is in ${path}`,

  found: (count: number, searched: number, words: string) =>
    `${count} of ${memories(searched)} with "${words}"`,
  noneFound: (searched: number, words: string) => `None of ${memories(searched)} has "${words}".`,

  missing: (name: string) => `There is no memory "${name}".`,
  listHint: (command: string) => `${command} list shows all.`,
  missingInTrash: (name: string) => `No forgotten memory "${name}" is kept.`,
  kept: 'What is kept, forgotten last first:',
  nothingToUndo: 'There is nothing to undo: no forgotten memory is kept.',
  ambiguous: (name: string) => `Several memories are called "${name}". Name the file:`,
  closest: 'The closest names:',

  forgotten: (title: string, fileName: string) => `Forgotten: ${title} (${fileName})`,
  undoUntil: (date: string, command: string, fileName: string) =>
    `A copy is kept until ${date}; ${command} undo ${fileName} brings it back.`,
  purged: 'Nothing was kept; this cannot be undone.',
  restored: (title: string, path: string) => `Back again: ${title} (${path})`,

  whySession: {
    shown: (shown: number, total: number) =>
      `The model of this session is given ${shown} of ${plural(total, 'entry', 'entries')} of the index.`,
    absent: 'The model of this session is given no memories: there was no index when it was read.',
    none: 'The model of this session is given no memories: it works as a sub-agent.',
    inherited: 'This sub-agent is given what its parent session was given.',
    unreadable: 'The model of this session is given no memories: the index could not be read.',
  },
  whyNew: {
    shown: (shown: number, total: number) =>
      `A new session with default settings would be given ${shown} of ${plural(total, 'entry', 'entries')} of the index.`,
    absent: 'A new session would be given no memories: there is no index.',
    unreadable: 'A new session would be given no memories: the index cannot be read.',
  },
  sizes: (part: string, characters: number, tokens: number) =>
    `${part}: ${characters.toLocaleString('en')} characters, about ${plural(tokens, 'token', 'tokens')}`,
  guidancePart: 'Guidance',
  indexPart: 'Index with its frame',
  tokenNote: 'Tokens are estimated: four ASCII characters or one other character count as one.',
  givenLines: (indexFile: string) => `Given, from ${indexFile}:`,
  omittedLines: {
    'over-limit': (lines: number, characters: number, isRecent: boolean) =>
      `Left out, over the limit of ${plural(lines, 'line', 'lines')} and ${plural(characters, 'character', 'characters')} (${isRecent ? 'what was written last stays' : 'the first lines stay'}):`,
    cut: 'Only the beginning of this line fitted:',
    comment: 'Left out, HTML comments:',
    frontmatter: 'Left out, the header of the index:',
  },

  healthy: (directory: string) => `Nothing wrong in ${directory}.`,
  findings: (count: number, directory: string) =>
    `${plural(count, 'finding', 'findings')} in ${directory}`,
  findingMessages: {} as Partial<Record<string, (name: string) => string>>,
  findingRepairs: {} as Partial<Record<string, (name: string) => string>>,
  willDo: (repair: string) => `fix would: ${repair}`,
  noRepair: 'has to be mended by hand',
  fixHint: (command: string) =>
    `${command} doctor fix does what can be mended; it deletes no memory.`,
  plan: 'Mending:',
  nothingToMend: 'Nothing here can be mended by itself.',
  mended: (count: number) => `Mended ${plural(count, 'finding', 'findings')}.`,
  remaining: (count: number) => `${plural(count, 'finding', 'findings')} left:`,

  where: {
    project: 'Project',
    directory: 'Memory',
    indexFile: 'Index',
    trash: 'Trash',
    home: 'DSH_HOME',
    other: 'Not used',
  },
  notThereYet: 'not there yet',
  memoryCount: memories,
  trashCount: (count: number) => `${count} can be brought back`,
  otherDirectory: 'another spelling of the project path has a memory of its own',

  programs: { zcode: 'ZCode', 'claude-code': 'Claude Code' } as Record<string, string>,
  noSource: (program: string) => `No memories of this project were found from ${program}.`,
  noSourceHint: 'Name the folder with --folder DIR if it lies elsewhere.',
  preview: (program: string, source: string) => `Preview: memories of ${program} in ${source}`,
  imported: (count: number, directory: string) => `Copied ${memories(count)} to ${directory}`,
  states: {
    new: 'would be copied',
    present: 'is there already',
    differs: 'stays as it is: a file of this name has other content',
    refused: 'is left out',
  },
  copied: 'copied',
  applyHint: 'Nothing was copied. Add --apply to copy.',
  nothingNew: 'There is nothing new to copy.',
  emptySource: 'There are no memory files in it.',
  cannotTell: (source: string) =>
    `Nothing was copied: it cannot be told whether this folder belongs to this project: several paths share its name, and no session log in it names this path. To copy all the same, add --folder "${source}" --apply.`,
  sharedWith: 'Sessions of other paths share this folder; its memories may be theirs:',

  exported: (count: number, file: string) => `Wrote ${memories(count)} to ${file}`,
  skipped: 'Left out, because they cannot be read:',

  failures: {} as Partial<Record<string, string>>,
}

/** Sentences of one language. */
export type Texts = typeof ENGLISH
