/** Reading a plain `rm`. */
import { describe, expect, test } from 'vitest'
import { parseRemovalCommand } from '../../../src/file-writes/removal-command.ts'

describe('a plain rm', () => {
  test.each([
    ['rm /m/a.md', ['/m/a.md'], false],
    ['  rm\t/m/a.md  ', ['/m/a.md'], false],
    ['rm -f /m/a.md', ['/m/a.md'], true],
    ['rm -- /m/a.md', ['/m/a.md'], false],
    ['rm -f -- /m/a.md /m/b.md', ['/m/a.md', '/m/b.md'], true],
    ["rm '/m/a b.md'", ['/m/a b.md'], false],
    ['rm "/m/a b.md"', ['/m/a b.md'], false],
    [`rm "/m/"a'.'md`, ['/m/a.md'], false],
    ["rm '/m/$(x).md'", ['/m/$(x).md'], false],
    ['rm /m/部署-1f2e3d.md', ['/m/部署-1f2e3d.md'], false],
    ['rm /m/e\u0301.md', ['/m/e\u0301.md'], false],
    ["rm ''", [''], false],
    ['rm -- -f', ['-f'], false],
    ['rm /m/a.md -f', ['/m/a.md', '-f'], false],
  ])('%s', (command, paths, isForced) => {
    expect(parseRemovalCommand(command)).toEqual({ paths, isForced })
  })
})

describe('another command', () => {
  test.each([
    '',
    'rm',
    'rm -f',
    'rm --',
    'rm -r /m/a.md',
    'rm -rf /m/a.md',
    'rm -ff /m/a.md',
    'rm --force /m/a.md',
    'rm -i /m/a.md',
    'ls /m/a.md',
    'sudo rm /m/a.md',
    '/bin/rm /m/a.md',
    'X=1 rm /m/a.md',
    'rm /m/a.md; touch x',
    'rm /m/a.md && touch x',
    'rm /m/a.md | cat',
    'rm /m/a.md &',
    'rm /m/a.md > x',
    'rm /m/a.md 2>/dev/null',
    'rm /m/a.md\ntouch x',
    'rm /m/a.md\r',
    'rm /m/*.md',
    'rm /m/?.md',
    'rm /m/[a].md',
    'rm /m/{a,b}.md',
    'rm ~/a.md',
    'rm $HOME/a.md',
    'rm "$HOME/a.md"',
    'rm "/m/`x`.md"',
    'rm "/m/a\\b.md"',
    'rm "/m/a!.md"',
    'rm /m/a\\ b.md',
    'rm $(echo /m/a.md)',
    'rm <(x)',
    'rm /m/a.md # why',
    "rm '/m/a.md",
    'rm "/m/a.md',
    "rm '/m/a\n.md'",
    'rm /m/a\u00a0b.md',
    '(rm /m/a.md)',
    '! rm /m/a.md',
    'rm() { :; }',
  ])('%j', (command) => {
    expect(parseRemovalCommand(command)).toBeUndefined()
  })
})

test('a very long line is read in time that grows with its length', () => {
  expect(parseRemovalCommand(`rm ${"'a'".repeat(200_000)}`)?.paths).toHaveLength(1)
  expect(parseRemovalCommand(`rm ${'a '.repeat(200_000)}`)?.paths).toHaveLength(200_000)
})
