import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isContainedMarkdownBashRemoval } from '../../../src/subsystems/memory-agent/index.ts'
import { agentWorld, allowsCommand, decideCall } from '../../support/memory-agent-world.ts'

describe('rm of the memory agent', () => {
  it('removes memory files named one by one', async () => {
    const world = await agentWorld()
    const M = world.memory
    const commands = [
      `rm ${M}/a.md`,
      `rm -f ${M}/a.md`,
      `rm -- ${M}/a.md`,
      `rm -f -- ${M}/a.md`,
      `rm "${M}/a b.md"`,
      `rm '${M}/a b.md'`,
      `rm -f ${M}/sub/a.md ${M}/b.md`,
      `rm ${M}/skills/left-over.md`,
      `rm ${M}/sub/../a.md`,
    ]
    expect(commands.filter((command) => !allowsCommand(world, command))).toEqual([])
  })

  it('refuses everything else', async () => {
    const world = await agentWorld()
    const M = world.memory
    await symlink(join(M, 'a.md'), join(M, 'alias.md'))
    const commands = [
      `rm ${M}/*.md`,
      `rm ${M}/?.md`,
      `rm ${M}/[a].md`,
      `rm ${M}/{a,b}.md`,
      `rm -rf ${M}`,
      `rm -R ${M}/a.md`,
      `rm -fr ${M}/a.md`,
      `rm -r ${M}/a.md`,
      `rm --recursive ${M}/a.md`,
      `rm --force ${M}/a.md`,
      `rm -v ${M}/a.md`,
      `rm -d ${M}/a.md`,
      `rm ${M}/a.md -r`,
      `rm -i ${M}/a.md`,
      `rm -- -rf`,
      `rm -- -f ${M}/a.md`,
      'rm',
      'rm -f',
      'rm --',
      'rm a.md',
      'rm ./a.md',
      'rm ~/.dsh/x.md',
      'rm $HOME/x.md',
      'rm "$M/a.md"',
      `rm ${M}/../x.md`,
      `rm ${M}/a.md /etc/b.md`,
      `rm ${M}/a.txt`,
      `rm ${M}/a.md.bak`,
      `rm ${M}`,
      `rm ${M}/a.md && touch x`,
      `rm ${M}/a.md\ntouch x`,
      `rm ${M}/a.md > x`,
      `rm ${M}/a.md | cat`,
      `rm ${M}/a.md 2>/dev/null`,
      `cat f | rm ${M}/a.md`,
      `rm ${M}/a.md; ls`,
      `rm ${M}/a.md &`,
      `X=1 rm ${M}/a.md`,
      `'rm' ${M}/a.md`,
      `\\rm ${M}/a.md`,
      `/tmp/rm ${M}/a.md`,
      `unlink ${M}/a.md`,
      `rm ${M}-evil/a.md`,
      `rm ${M}/link/x.md`,
      `rm ${M}/alias.md`,
      `rm ${M}/memory.md`,
      `rm ${M}/MEMORY.md`,
      `rm ${M}/Memory.md`,
      `rm ${M}/sub/MEMORY.md`,
      `rm ${M}/.trash/a.md.trash`,
      `rm ${M}/.trash/old.md`,
      `rm ${M}/.Trash/old.md`,
      `rm /${M}/a.md`,
      `rm ''`,
      `rm ${M}/a.md ''`,
      `rm ${M}/a\u200b.md`,
    ]
    expect(commands.filter((command) => allowsCommand(world, command))).toEqual([])
  })

  it('gives the plain function the same answer as the policy', async () => {
    const { memory, project } = await agentWorld()
    const input = { rootDir: memory, workingDirectory: project, workspaceRoot: project }
    const removes = (command: unknown) => isContainedMarkdownBashRemoval({ ...input, command })
    expect(removes(`rm ${memory}/a.md`)).toBe(true)
    expect([`rm ${memory}/*.md`, 'ls', '', 5, undefined].filter(removes)).toEqual([])
    expect(() => isContainedMarkdownBashRemoval({ ...input, rootDir: 'x', command: 'rm' })).toThrow(
      TypeError,
    )
  })

  it('names the file that may not be removed', async () => {
    const world = await agentWorld()
    const { reason } = decideCall(world, 'bash', { command: `rm ${world.memory}/MEMORY.md` })
    expect(reason).toContain(`${world.memory}/MEMORY.md is not a memory file that may be removed`)
  })
})
