import { describe, expect, test } from 'vitest'
import { parseShellCall } from '../../../src/commands/shell-arguments.ts'
import { ENGLISH } from '../../../src/commands/texts-en.ts'

function parse(...argv: string[]) {
  return parseShellCall(argv, '/work', ENGLISH.usageProblems)
}

function taskOf(...argv: string[]): unknown {
  const call = parse(...argv)
  return call.kind === 'request' ? call.request.task : call
}

describe('the words of a shell call', () => {
  test('name the project, by default the working directory', () => {
    expect(parse('list')).toEqual({
      kind: 'request',
      request: { project: '/work', json: false, task: { verb: 'list' } },
    })
    expect(parse('list', '--project', 'sub/..//app', '--json')).toMatchObject({
      request: { project: '/work/app', json: true },
    })
  })

  test.each([
    [['show', 'Staging', 'rule'], { verb: 'show', words: 'Staging rule' }],
    [['search', '部署', 'x'], { verb: 'search', words: '部署 x' }],
    [['forget', 'a', '--purge'], { verb: 'forget', words: 'a', purge: true }],
    [['forget', '--', '--purge'], { verb: 'forget', words: '--purge', purge: false }],
    [['undo'], { verb: 'undo', words: undefined }],
    [['undo', 'a b'], { verb: 'undo', words: 'a b' }],
    [['doctor'], { verb: 'doctor', fix: false }],
    [['doctor', 'fix'], { verb: 'doctor', fix: true }],
    [
      ['import', '--from', 'zcode'],
      { verb: 'import', program: 'zcode', folder: undefined, apply: false },
    ],
    [
      ['import', '--from', 'claude-code', '--folder', 'x', '--apply'],
      { verb: 'import', program: 'claude-code', folder: 'x', apply: true },
    ],
    [['export'], { verb: 'export', file: undefined, format: 'markdown', force: false }],
    [
      ['export', '--output', 'a.JSON', '--force'],
      { verb: 'export', file: 'a.JSON', format: 'json', force: true },
    ],
    [
      ['export', '-o', 'a.txt', '--format', 'json'],
      { verb: 'export', file: 'a.txt', format: 'json', force: false },
    ],
    [
      ['export', '--output', '-', '--json'],
      { verb: 'export', file: '-', format: 'json', force: false },
    ],
  ])('%j is understood', (argv, task) => {
    expect(taskOf(...argv)).toEqual(task)
  })

  test.each([
    [[], 'a command is missing'],
    [['lst'], '"lst" is no command'],
    [['constructor'], '"constructor" is no command'],
    [['list', 'extra'], 'list takes no "extra"'],
    [['doctor', 'fxi'], 'doctor takes no "fxi"'],
    [['doctor', 'fix', 'now'], 'doctor takes no "now"'],
    [['show'], 'show needs a title or file name'],
    [['show', '  '], 'show needs a title or file name'],
    [['search'], 'search needs words to look for'],
    [['list', '--purge'], 'list takes no --purge'],
    [['list', '--nope'], "Unknown option '--nope'"],
    [['import'], '--from is missing; write --from zcode or claude-code'],
    [['import', '--from', 'vim'], '--from cannot be "vim"; write --from zcode or claude-code'],
    [['export', '--format', 'pdf'], '--format cannot be "pdf"; write --format markdown or json'],
    [['list', '--project', ''], '--project needs a directory'],
    [['export', '--output='], '--output needs a file, or - for the standard output'],
  ])('%j is wrong usage', (argv, message) => {
    expect(parse(...argv)).toEqual({ kind: 'usage', message, json: false })
  })

  test('ask for help and version', () => {
    expect([parse('--help'), parse('list', '-h'), parse('help')]).toEqual(
      Array.from({ length: 3 }, () => ({ kind: 'help' })),
    )
    expect(parse('--version')).toEqual({ kind: 'version' })
  })
})
