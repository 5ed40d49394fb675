/**
 * The model's own `write`, `edit` and `rm`: what stays refused, and what the user is asked.
 */
import { existsSync } from 'node:fs'
import { link, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  DENIED,
  ESCALATION,
  FILE,
  type HandProject,
  INDEX,
  handProject,
} from '../support/by-hand-host.ts'
import { callTool, hostSupport, type ModelAnswer } from '../support/host/index.mjs'
import { MemoryHost, ROW, withMemoryHost } from '../support/memory-host.ts'

/** Make these calls, and see that the memory is as it was. */
async function refusedCalls(
  project: HandProject,
  ...answers: ModelAnswer[]
): Promise<{ isError: boolean; result: string }[]> {
  const results = await project.calls(...answers)
  await expectUntouched(project)
  return results
}

async function expectUntouched({ names, read }: HandProject): Promise<void> {
  expect(await names()).toEqual(expect.arrayContaining(['MEMORY.md', 'a.md', 'c.md']))
  expect(await names()).not.toContain('d.md')
  expect(await read('MEMORY.md')).toBe(INDEX)
  expect(await read('a.md')).toBe('A\n')
}

const textsOf = (results: { result: string }[]): string[] => results.map(({ result }) => result)

describe.skipIf(!hostSupport().supported)('changes by hand that stay refused', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  test('without the plugin every one of them', async () => {
    const project = await handProject(memory, 'without')
    await memory.host.setRow(ROW, { disabled: true })
    try {
      const { at, edit, rm, write } = project
      const results = await refusedCalls(
        project,
        callTool('read', { file_path: at('MEMORY.md') }),
        edit('MEMORY.md', 'first', 'second'),
        write('d.md', FILE),
        write('d.md', FILE, ESCALATION),
        rm(at('a.md')),
      )
      expect(textsOf(results.slice(1))).toEqual([
        expect.stringMatching(DENIED),
        expect.stringMatching(DENIED),
        expect.stringContaining('no approval channel is available'),
        expect.stringMatching(DENIED),
      ])
    } finally {
      await memory.host.setRow(ROW, { disabled: false })
    }
  })

  test('by a command that does more than remove', async () => {
    const project = await handProject(memory, 'command')
    const { at, approvals } = project
    const commands = [
      `rm ${at('c.md')}; touch x`,
      `rm -rf ${at('c.md')}`,
      `rm ${join(project.root, '*.md')}`,
      `rm ${at('MEMORY.md')}`,
      `rm ${at('a.md')} ${at('MEMORY.md')}`,
      `rm ${project.root}/../memory/a.md`,
      `echo x > ${at('d.md')}`,
    ]
    const results = await refusedCalls(
      project,
      ...commands.map((command) => callTool('bash', { command, description: 'try' })),
    )
    expect(textsOf(results)).toEqual(commands.map(() => expect.stringMatching(/denied/i)))
    expect(existsSync(at('c.md'))).toBe(true)
    expect(await approvals()).toEqual([])
  })

  test('of other files than memories', async () => {
    const project = await handProject(memory, 'elsewhere')
    const { at, approvals, root } = project
    const outside = join(memory.home.dshHome, 'other.md')
    await writeFile(outside, 'outside\n')
    await symlink(outside, at('link.md'))
    await link(outside, at('twin.md'))
    await mkdir(at('folder.md'))
    await mkdir(at('sub'))
    const other = await handProject(memory, 'elsewhere-other')
    const paths = [
      `${root}/../../evil.md`,
      at('evil.sh'),
      at('.hidden.md'),
      at('sub/evil.md'),
      outside,
      other.at('d.md'),
      join(memory.home.dshHome, 'settings.yaml'),
    ]
    const results = await refusedCalls(
      project,
      ...paths.map((file_path) => callTool('write', { file_path, content: FILE })),
      callTool('read', { file_path: at('link.md') }),
      callTool('edit', { file_path: at('link.md'), old_string: 'outside', new_string: 'x' }),
      callTool('read', { file_path: at('twin.md') }),
      callTool('edit', { file_path: at('twin.md'), old_string: 'outside', new_string: 'x' }),
    )
    const [, linked, , twin] = results.splice(paths.length)
    expect(textsOf(results)).toEqual(paths.map(() => expect.stringMatching(DENIED)))
    expect(linked?.result).toMatch(DENIED)
    expect(twin?.result).toMatch(DENIED)
    expect(await readFile(outside, 'utf8')).toBe('outside\n')
    expect(existsSync(join(memory.home.dshHome, 'memories/projects/evil.md'))).toBe(false)
    await expectUntouched(other)
    expect(await approvals()).toEqual([])
  })

  test('in a read-only session, also escalated', async () => {
    const project = await handProject(memory, 'read-only')
    const { approvals, at, edit, rm, session, write } = project
    await memory.mark(session, 'sandbox/mode', { mode: 'read-only' })
    const results = await refusedCalls(
      project,
      edit('MEMORY.md', 'first', 'second'),
      write('d.md', FILE),
      rm(at('a.md')),
      write('d.md', FILE, ESCALATION),
    )
    expect(textsOf(results)).toEqual([
      expect.stringMatching(DENIED),
      expect.stringMatching(DENIED),
      expect.stringMatching(DENIED),
      expect.stringContaining('no approval channel is available'),
    ])
    expect((await approvals()).at(-1)).toBe('unavailable')
  })

  test('under the approval policy never', async () => {
    const project = await handProject(memory, 'never')
    const { approvals, at, edit, rm, session, write } = project
    await memory.mark(session, 'approval/policy', { policy: 'never' })
    const results = await refusedCalls(
      project,
      edit('MEMORY.md', 'first', 'second'),
      write('d.md', FILE),
      rm(at('a.md')),
      write('d.md', FILE, ESCALATION),
    )
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true])
    expect(textsOf(results)).toEqual(
      results.map(() => expect.stringContaining('approval was rejected')),
    )
    expect((await approvals()).filter((text) => text === 'rejected')).toHaveLength(4)
  })

  test.each(['subagent', 'subagent_fork'] as const)('in a sub-agent (%s)', async (tool) => {
    const project = await handProject(memory, `child-${tool}`)
    const { at, edit, rm, session, write } = project
    await memory.turn(session)
    const prompt = memory.prompt(
      callTool('read', { file_path: at('MEMORY.md') }),
      edit('MEMORY.md', 'first', 'second'),
      write('d.md', FILE),
      write('d.md', FILE, ESCALATION),
      rm(at('a.md')),
    )
    const waits = tool === 'subagent' ? { run_in_background: false } : {}
    const results = await refusedCalls(
      project,
      callTool(tool, { description: 'change memories', prompt, ...waits }),
    )
    expect(results).toMatchObject([{ isError: false, result: 'Done.' }])
    const child = memory.model
      .requests()
      .findLast(({ prompts, sessionId }) => sessionId !== session && prompts.includes(prompt))
    const [, ...texts] = child?.toolResults.slice(-5).map(({ text }) => text) ?? []
    expect(texts).toEqual([
      expect.stringMatching(DENIED),
      expect.stringMatching(DENIED),
      expect.stringContaining('the user rejected'),
      expect.stringMatching(DENIED),
    ])
  })

  test('when a hook denies or asks, and for its tool alone', async () => {
    for (const decision of ['deny', 'ask'] as const) {
      const project = await handProject(memory, `hook-${decision}`)
      const { at, edit, rm, write } = project
      await memory.host.evaluate((ctx, kind) => {
        const holder = globalThis as unknown as { endHook?: () => void }
        holder.endHook = ctx.on(
          'tools/pre-execute',
          (call: { name: string }, next: () => unknown) =>
            ['write', 'edit'].includes(call.name) ? { kind, reason: 'the hook says so' } : next(),
        )
      }, decision)
      try {
        const results = await refusedCalls(
          project,
          edit('MEMORY.md', 'first', 'second'),
          write('d.md', FILE),
          write('d.md', FILE, ESCALATION),
        )
        const says = decision === 'deny' ? 'the hook says so' : 'no approval channel is available'
        expect(textsOf(results)).toEqual(results.map(() => expect.stringContaining(says)))
        expect(await project.calls(rm(at('c.md')))).toMatchObject([{ result: '(no output)' }])
      } finally {
        await memory.host.evaluate(() => {
          ;(globalThis as unknown as { endHook?: () => void }).endHook?.()
        })
      }
    }
  })

  test('for a file that was not read, with the advice of the host', async () => {
    const project = await handProject(memory, 'unread')
    const { at, edit, write } = project
    const results = await refusedCalls(
      project,
      edit('a.md', 'A', 'B'),
      write('a.md', 'B\n'),
      callTool('read', { file_path: at('c.md') }),
    )
    expect(textsOf(results).slice(0, 2)).toEqual([
      `Error: edit requires reading "${at('a.md')}" first — read the file, then retry`,
      `Error: cannot overwrite existing "${at('a.md')}" without reading it first — read the file, then retry`,
    ])
    await writeFile(at('c.md'), 'C, by another program\n')
    expect(textsOf(await project.calls(write('c.md', 'C2\n'), edit('c.md', 'C', 'D')))).toEqual([
      `Error: cannot write "${at('c.md')}": file changed since it was read — re-read the file, then retry`,
      `Error: cannot edit "${at('c.md')}": file changed since it was read — re-read the file, then retry`,
    ])
  })

  test('by the editor tool of another kind', async () => {
    const project = await handProject(memory, 'editor')
    const args = { command: 'create', path: project.at('d.md'), file_text: FILE }
    const [result] = await refusedCalls(project, callTool('str_replace_editor', args))
    expect(result?.isError).toBe(true)
  })
})

describe.skipIf(!hostSupport().supported)('memoryFileWrites: ask', () => {
  test('asks whoever answers for the user, and does as it is told', async () => {
    await withMemoryHost({ config: { memoryFileWrites: 'ask' } }, async (memory) => {
      const project = await handProject(memory, 'ask')
      const { approvals, at, calls, edit, names, read, rm, write } = project
      const unanswered = await refusedCalls(
        project,
        edit('MEMORY.md', 'first', 'second'),
        rm(at('a.md')),
        write('d.md', FILE, ESCALATION),
      )
      expect(textsOf(unanswered)).toEqual([
        expect.stringMatching(DENIED),
        expect.stringMatching(DENIED),
        expect.stringContaining('no approval channel is available'),
      ])
      expect(await approvals()).toEqual([
        'project memory: edit MEMORY.md',
        'unavailable',
        'project memory: remove a.md',
        'unavailable',
        'project memory: write d.md',
        'unavailable',
      ])

      const answer = (outcome: string): Promise<void> =>
        memory.host.evaluate((ctx, said) => {
          ctx.on('approval/request', () => Promise.resolve(said), { prepend: true })
        }, outcome)
      await answer('rejected')
      expect(textsOf(await refusedCalls(project, write('d.md', FILE)))).toEqual([
        'Error: approval was rejected (project memory: write d.md); do not try it again',
      ])
      await answer('allowed-once')
      await calls(edit('MEMORY.md', 'first', 'second'), write('d.md', FILE), rm(at('a.md')))
      expect(await names()).toEqual(['MEMORY.md', 'c.md', 'd.md'])
      expect(await read('MEMORY.md')).toContain('second')
    })
  })
})
