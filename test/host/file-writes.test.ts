/**
 * The model's own `write`, `edit` and `rm` of memory files: what succeeds in the default sandbox.
 */
import { existsSync } from 'node:fs'
import { readdir, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ESCALATION, FILE, INDEX, handProject, handSession } from '../support/by-hand-host.ts'
import {
  callTool,
  hostSupport,
  removeHome,
  runHeadless,
  startScriptedModel,
} from '../support/host/index.mjs'
import { MemoryHost, memoryHome, memoryPaths, withMemoryHost } from '../support/memory-host.ts'
import { ProjectMemoryStore } from '../../src/store/store.ts'

const GRANTED = 'allowed-once'

/** {@link FILE} as it is stamped. */
const stampedFile = (session: string): string =>
  FILE.replace(
    'metadata:\n  type: project\n',
    `metadata:\n  node_type: memory\n  type: project\n  originSessionId: "${session}"\n`,
  )

describe.skipIf(!hostSupport().supported)('memory files changed by hand', () => {
  let memory: MemoryHost

  beforeAll(async () => {
    memory = await MemoryHost.start()
  })

  afterAll(() => memory?.stop())

  test('the index that was shown is edited at the first try', async () => {
    const { approvals, calls, edit, read } = await handProject(memory, 'edit')
    expect(await calls(edit('MEMORY.md', 'first', 'second'))).toMatchObject([
      { isError: false, result: expect.stringContaining('has been updated successfully') },
    ])
    expect(await read('MEMORY.md')).toBe(INDEX.replace('first', 'second'))
    expect(await approvals()).toEqual(['project memory: edit MEMORY.md', GRANTED])
  })

  test('a new file is written at the first try, stamped, durable and for the owner alone', async () => {
    const project = await handProject(memory, 'write')
    const { at, calls, edit, read, session, write } = project
    const [written, edited] = await calls(write('d.md', FILE), edit('d.md', 'Body.', 'Text.'))
    expect(written).toMatchObject({
      isError: false,
      result: `<path>${at('d.md')}</path>\n<type>file</type>\n<content>\nCreated file\n</content>`,
    })
    expect(edited).toMatchObject({ isError: false })
    expect(await read('d.md')).toBe(stampedFile(session).replace('Body.', 'Text.'))
    expect((await stat(at('d.md'))).mode & 0o777).toBe(0o600)
    expect(await project.names()).toEqual(['MEMORY.md', 'a.md', 'c.md', 'd.md'])
    expect(existsSync(`${project.root}.lock`)).toBe(false)
  })

  test('the first file of all makes the directory', async () => {
    const { calls, names, root, write } = await handSession(memory, 'first')
    expect(existsSync(root)).toBe(false)
    expect(await calls(write('d.md', FILE), write('MEMORY.md', '- [D](d.md)\n'))).toMatchObject([
      { isError: false },
      { isError: false },
    ])
    expect(await names()).toEqual(['MEMORY.md', 'd.md'])
    expect((await stat(root)).mode & 0o777).toBe(0o700)
  })

  test('a file that was read is replaced, and the edit after it finds it stamped', async () => {
    const project = await handProject(memory, 'replace')
    const { at, calls, edit, read, session, write } = project
    const results = await calls(
      callTool('read', { file_path: at('a.md') }),
      write('a.md', FILE),
      edit('a.md', 'node_type: memory', 'node_type: memory # stamped'),
    )
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false])
    expect(await read('a.md')).toBe(
      stampedFile(session).replace('node_type: memory', 'node_type: memory # stamped'),
    )
  })

  test('an edit stamps a file without an origin, and the next edit is not stale', async () => {
    const project = await handProject(memory, 'edit-stamps')
    const { at, calls, edit, read, session } = project
    await writeFile(at('e.md'), FILE.replace('metadata:\n  type: project\n', 'type: user\n'))
    const results = await calls(
      callTool('read', { file_path: at('e.md') }),
      edit('e.md', 'Body', 'B'),
      edit('e.md', 'B.', 'C.'),
    )
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false])
    expect(await read('e.md')).toBe(
      '---\nname: d\ndescription: A rule.\ntype: user\nmetadata:\n  node_type: memory\n' +
        `  originSessionId: "${session}"\n---\n\nC.\n`,
    )
  })

  test('the session that wrote a file first stays its origin', async () => {
    const first = await handProject(memory, 'origin')
    await first.calls(first.write('e.md', FILE))
    const second = await handSession(memory, 'origin')
    await second.calls(
      callTool('read', { file_path: second.at('e.md') }),
      second.edit('e.md', 'Body', 'B'),
    )
    expect(await second.read('e.md')).toBe(stampedFile(first.session).replace('Body', 'B'))
  })

  test('rm moves the file to the trash and says nothing', async () => {
    const project = await handProject(memory, 'remove')
    const { approvals, at, calls, names, read, rm: remove } = project
    expect(await calls(remove(at('a.md')))).toMatchObject([
      { isError: false, result: '(no output)' },
    ])
    expect(await names()).toEqual(['MEMORY.md', 'c.md'])
    expect(await read('MEMORY.md')).toBe(INDEX)
    expect(await approvals()).toEqual(['project memory: remove a.md', GRANTED])
    const store = new ProjectMemoryStore(memoryPaths(memory.home, project.cwd))
    await store.undo('a.md')
    expect(await read('a.md')).toBe('A\n')
    expect(await read('MEMORY.md')).toBe(INDEX)
  })

  test('a removed file may be written anew', async () => {
    const { at, calls, read, rm: remove, write } = await handProject(memory, 'anew')
    const results = await calls(
      callTool('read', { file_path: at('a.md') }),
      remove('-f', '--', `'${at('a.md')}'`),
      write('a.md', 'again\n'),
    )
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false])
    expect(await read('a.md')).toBe('again\n')
  })

  test('escalated calls are granted, stamped and go through the trash', async () => {
    const project = await handProject(memory, 'escalated')
    const { approvals, at, calls, names, read, session, write } = project
    const removal = { command: `rm ${at('a.md')}`, description: 'remove', ...ESCALATION }
    expect(await calls(write('d.md', FILE, ESCALATION), callTool('bash', removal))).toMatchObject([
      { isError: false },
      { isError: false, result: '(no output)' },
    ])
    expect(await read('d.md')).toBe(stampedFile(session))
    expect(await names()).toEqual(['MEMORY.md', 'c.md', 'd.md'])
    expect(await readdir(join(project.root, '.trash'))).toHaveLength(1)
    expect(await approvals()).toEqual([
      'project memory: write d.md',
      GRANTED,
      'project memory: remove a.md',
      GRANTED,
    ])
  })

  test('two writes of one answer succeed', async () => {
    const { at, calls, names } = await handProject(memory, 'two')
    const toolCalls = ['d.md', 'e.md'].map((name) => ({
      name: 'write',
      arguments: { file_path: at(name), content: FILE },
    }))
    expect(await calls({ toolCalls })).toMatchObject([{ isError: false }, { isError: false }])
    expect(await names()).toEqual(['MEMORY.md', 'a.md', 'c.md', 'd.md', 'e.md'])
  })

  test('plan mode does not keep a session from it', async () => {
    const { calls, edit, read, session } = await handProject(memory, 'plan')
    await memory.mark(session, 'plan/mode', { active: true })
    expect(await calls(edit('MEMORY.md', 'first', 'planned'))).toMatchObject([{ isError: false }])
    expect(await read('MEMORY.md')).toContain('planned')
  })

  test('the card of a write and an edit is the difference', async () => {
    const { calls, edit, session, write } = await handProject(memory, 'card')
    await calls(write('d.md', FILE), edit('MEMORY.md', 'first', 'second'))
    const events = await memory.host.events(session)
    const metas = events
      .filter(({ type }) => type === 'tool/result')
      .map(({ data }) => JSON.stringify(data))
    expect(metas).toHaveLength(2)
    expect(metas[1]).toContain('"oldText":"- [A](a.md) — first\\n- [C](c.md) — third"')
    expect(metas[1]).toContain('"newText":"- [A](a.md) — second\\n- [C](c.md) — third"')
  })

  test('a call from a program succeeds too', async () => {
    await withMemoryHost({ env: { DSH_TOOLS_MODE: 'code' } }, async (coded) => {
      const { at, calls, read, session } = await handProject(coded, 'code')
      const code = `return await tools.write(${JSON.stringify({ file_path: at('d.md'), content: FILE })})`
      const results = await calls(callTool('run_code', { code, description: 'write a memory' }))
      expect(results).toMatchObject([{ isError: false }])
      expect(await read('d.md')).toBe(stampedFile(session))
    })
  })
})

describe.skipIf(!hostSupport().supported)('a home behind a link', () => {
  test('both spellings of a memory file may be changed', async () => {
    const made = await memoryHome()
    onTestFinished(() => removeHome(made))
    const real = join(made.root, 'disk')
    await rename(made.dshHome, real)
    await symlink(real, made.dshHome)
    await withMemoryHost({ home: made }, async (memory) => {
      const { at, calls, names, root, write } = await handProject(memory, 'linked')
      const other = join(real, root.slice(made.dshHome.length), 'e.md')
      expect(
        await calls(
          write('d.md', FILE),
          callTool('write', { file_path: other, content: FILE }),
          callTool('edit', { file_path: at('e.md'), old_string: 'Body', new_string: 'B' }),
        ),
      ).toMatchObject([{ isError: false }, { isError: false }, { isError: false }])
      expect(await names()).toEqual(['MEMORY.md', 'a.md', 'c.md', 'd.md', 'e.md'])
    })
  })
})

describe.skipIf(!hostSupport().supported)('the one-shot runner', () => {
  test('edits the index and writes a memory at the first try', async () => {
    const home = await memoryHome()
    onTestFinished(() => removeHome(home))
    const cwd = await home.project()
    const { indexFilePath, root } = memoryPaths(home, cwd)
    const store = new ProjectMemoryStore(memoryPaths(home, cwd))
    await store.save({ key: 'Staging', content: 'Deploy on Mondays.' })
    const model = await startScriptedModel([
      callTool('write', { file_path: join(root, 'd.md'), content: FILE }),
      callTool('edit', {
        file_path: indexFilePath,
        old_string: '- [Staging]',
        new_string: '- [D](d.md)\n- [Staging]',
      }),
      'Saved.',
    ])
    onTestFinished(() => model.close())
    const { code, stdout } = await runHeadless({ home, model, cwd, task: 'Remember D.' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Saved.\n' })
    expect(model.faults()).toEqual([])
    expect((await store.readIndex()).content).toMatch(/^- \[D\]\(d\.md\)\n- \[Staging\]/u)
    expect(await store.examine()).toEqual([])
  })
})
