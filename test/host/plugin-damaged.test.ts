/**
 * A memory that cannot be read or written: the session goes on, one line says why, a save fails.
 */
import { execFileSync } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hostSupport } from '../support/host/index.mjs'
import { MemoryHost, memoryPaths, shownGuidance, shownIndex } from '../support/memory-host.ts'

/** Stands in every file that must not be shown. */
const SECRET = 'sesame-7f3a'
const LINES = Array.from({ length: 20 }, (_, at) => `- [${SECRET} ${at}](m${at}.md) — x\n`).join('')

interface Damage {
  name: string
  /** Puts the damage into place. */
  make: (paths: { root: string; indexFilePath: string; elsewhere: string }) => Promise<void>
  /** What the line and the error say. */
  reason: RegExp
}

const plainDirectory = (root: string): Promise<unknown> => mkdir(root, { recursive: true })

const DAMAGES: Damage[] = [
  {
    name: 'UTF-16 text',
    make: async ({ root, indexFilePath }) => {
      await plainDirectory(root)
      const text = Buffer.from(`\ufeff- [A](a.md) — ${SECRET}\n`, 'utf16le')
      await writeFile(indexFilePath, text)
    },
    reason: /not UTF-8/,
  },
  {
    name: 'GBK bytes among ASCII lines',
    make: async ({ root, indexFilePath }) => {
      await plainDirectory(root)
      const gbk = Buffer.from([0xb2, 0xbf, 0xca, 0xf0])
      const parts = [Buffer.from('- [A](a.md) — '), gbk, Buffer.from(`\n${LINES}`)]
      await writeFile(indexFilePath, Buffer.concat(parts))
    },
    reason: /not UTF-8/,
  },
  {
    name: 'more than 5 MiB',
    make: async ({ root, indexFilePath }) => {
      await plainDirectory(root)
      await writeFile(indexFilePath, LINES.padEnd(5 * 1024 * 1024 + 1, '\n'))
    },
    reason: /more than the 5242880/,
  },
  {
    name: 'a FIFO',
    make: async ({ root, indexFilePath }) => {
      await plainDirectory(root)
      execFileSync('mkfifo', [indexFilePath])
    },
    reason: /not a regular file/,
  },
  {
    name: 'a directory',
    make: ({ indexFilePath }) => plainDirectory(indexFilePath) as Promise<void>,
    reason: /not a regular file/,
  },
  {
    name: 'a link to another file',
    make: async ({ root, indexFilePath, elsewhere }) => {
      await plainDirectory(root)
      await symlink(join(elsewhere, 'MEMORY.md'), indexFilePath)
    },
    reason: /link/,
  },
  {
    name: 'a link in place of the memory directory',
    make: async ({ root, elsewhere }) => {
      await mkdir(dirname(root), { recursive: true })
      await symlink(elsewhere, root)
    },
    reason: /memory (is not a real directory|is a symbolic link)/,
  },
  {
    name: "a link in place of the project's directory",
    make: async ({ root, elsewhere }) => {
      await mkdir(dirname(dirname(root)), { recursive: true })
      await mkdir(join(elsewhere, 'memory'))
      await writeFile(join(elsewhere, 'memory', 'MEMORY.md'), LINES)
      await symlink(elsewhere, dirname(root))
    },
    reason: /-[0-9a-f]{16} (is not a real directory|is a symbolic link)/,
  },
  {
    name: 'a file in place of the memory directory',
    make: async ({ root }) => {
      await mkdir(dirname(root), { recursive: true })
      await writeFile(root, SECRET)
    },
    reason: /memory is (not a real directory|not a directory)/,
  },
]

describe.skipIf(!hostSupport().supported)('a memory that is damaged', () => {
  let memory: MemoryHost
  let memories: string

  beforeAll(async () => {
    memory = await MemoryHost.start()
    memories = join(memory.home.dshHome, 'memories')
  })

  afterAll(async () => {
    const { code, stderr } = (await memory?.stop()) ?? {}
    expect(code).toBe(0)
    expect(stderr).not.toContain(SECRET)
  })

  /** A session works, is told why there is no memory, and cannot save, twice the same way. */
  async function expectRefusal(project: string, reason: RegExp): Promise<void> {
    const session = await memory.session(project)
    const answers = [
      await memory.save(session, { key: 'New', content: SECRET }),
      await memory.save(session, { key: 'New', content: SECRET }),
    ]
    const [request] = memory.model.of(session)
    expect(shownIndex(request)).toMatch(
      /^Project memory index `[^`\n]+MEMORY\.md` cannot be read[^\n]*$/,
    )
    expect(shownIndex(request)).toMatch(reason)
    expect(request?.raw).not.toContain(SECRET)
    expect(request?.raw).not.toContain('\\u0000')
    expect(request?.raw).not.toContain('\ufffd')
    expect(shownGuidance(request)).not.toBe('')
    for (const { isError, text } of answers) {
      expect(isError).toBe(true)
      expect(text).toMatch(/^Error: [^\n]{1,400}$/)
      expect(text).toMatch(reason)
      expect(text).not.toContain(SECRET)
      expect(text).not.toMatch(/\bat .*:\d+:\d+/)
    }
    expect(answers[1]).toEqual(answers[0])
  }

  test.each(DAMAGES)('index unreadable: $name', async ({ name, make, reason }) => {
    const project = name.replaceAll(/[^a-z0-9]+/gi, '-')
    const paths = memoryPaths(memory.home, await memory.home.project(project))
    const elsewhere = join(memory.home.root, 'elsewhere', project)
    await mkdir(elsewhere, { recursive: true })
    await writeFile(join(elsewhere, 'MEMORY.md'), LINES)
    await make({ ...paths, elsewhere })
    const before = await fingerprint(paths.root, elsewhere)
    await expectRefusal(project, reason)
    expect(await fingerprint(paths.root, elsewhere)).toEqual(before)
  })

  /** Have something else stand at a path while the test runs. */
  async function replaceMeanwhile(
    path: string,
    make: (moved: string) => Promise<void>,
  ): Promise<void> {
    await mkdir(path, { recursive: true })
    const moved = join(memory.home.root, 'moved', path.slice(memory.home.root.length))
    await mkdir(dirname(moved), { recursive: true })
    await rename(path, moved)
    onTestFinished(async () => {
      await rm(path, { recursive: true, force: true })
      await rename(moved, path)
    })
    await make(moved)
  }

  test('a file in place of the memories folder', async () => {
    await replaceMeanwhile(memories, () => writeFile(memories, SECRET))
    await expectRefusal('no-folder', /ENOTDIR/)
    expect(await readFile(memories, 'utf8')).toBe(SECRET)
  })

  test('a link in place of the projects folder', async () => {
    await replaceMeanwhile(join(memories, 'projects'), (moved) =>
      symlink(moved, join(memories, 'projects')),
    )
    await expectRefusal('linked-projects', /projects (is not a real directory|is a symbolic link)/)
  })

  test('a memories folder that was moved behind a link works', async () => {
    const before = await memory.save(await memory.session('moved'), { key: 'Before', content: 'x' })
    expect(before.value).toMatchObject({ saved: true })
    await replaceMeanwhile(memories, (moved) => symlink(moved, memories))
    const session = await memory.session('moved')
    const after = await memory.save(session, { key: 'After', content: 'x' })
    expect(after.value).toMatchObject({ saved: true, indexEntries: 2 })
    expect(shownIndex(memory.lastRequest(session))).toContain('- [Before](before.md)')
    expect(shownIndex(await memory.freshRequest('moved'))).toContain('- [After](after.md)')
    expect((await lstat(memories)).isSymbolicLink()).toBe(true)
  })

  test('a read-only file system: the memory is shown, a save fails and says why', async (context) => {
    await memory.save(await memory.session('read-only'), { key: 'Kept', content: 'x' })
    const { root } = memoryPaths(memory.home, await memory.home.project('read-only'))
    const before = await fingerprint(root)
    try {
      execFileSync('mount', ['--bind', memories, memories], { stdio: 'ignore' })
    } catch {
      context.skip('mounting is not allowed here')
    }
    onTestFinished(() => void execFileSync('umount', [memories]))
    execFileSync('mount', ['-o', 'remount,ro,bind', memories])
    const session = await memory.session('read-only')
    for (const key of ['Kept', 'New']) {
      const { isError, text } = await memory.save(session, { key, content: SECRET })
      expect(isError).toBe(true)
      expect(text).toMatch(/^Error: [^\n]*EROFS[^\n]*$/)
      expect(text).not.toContain(SECRET)
    }
    expect(shownIndex(memory.lastRequest(session))).toContain('- [Kept](kept.md)')
    expect(await fingerprint(root)).toEqual(before)
  })
})

/** Names, kinds, modes and bytes of everything at and below some paths. */
async function fingerprint(...paths: string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    const stats = await lstat(path)
    const head = `${path} ${stats.mode.toString(8)} ${stats.mtimeMs}`
    if (stats.isFile()) found.push(`${head} ${(await readFile(path)).toString('base64')}`)
    else found.push(head)
    if (!stats.isDirectory()) continue
    found.push(...(await fingerprint(...(await readdir(path)).map((name) => join(path, name)))))
  }
  return found
}
