import { execFileSync } from 'node:child_process'
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  createLocalFileSystem,
  type ManifestEntryKind,
  type ManifestFileSystem,
  scanMemoryManifest,
} from '../../../src/subsystems/manifest/index.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

type Node = { text: string; mtimeMs: number } | { link: string } | 'fifo' | 'folder'

/** A folder `root` and something beside it; links are relative. */
const TREE: Record<string, Node> = {
  root: 'folder',
  'root/a.md': { text: '---\ndescription: "A."\n---\nline 4\n', mtimeMs: 1000 },
  'root/sub': 'folder',
  'root/sub/b.md': { text: 'one\ntwo\nthree', mtimeMs: 2000 },
  'root/sub/data': { text: '', mtimeMs: 5000 },
  'root/pipe.md': 'fifo',
  'root/in.md': { link: 'sub/b.md' },
  'root/out.md': { link: '../beside/secret.md' },
  'root/dead.md': { link: 'nothing.md' },
  'root/folder.md': { link: 'sub' },
  'root/loop.md': { link: 'loop.md' },
  beside: 'folder',
  'beside/secret.md': { text: 'secret\n', mtimeMs: 4000 },
}

async function realDisk(): Promise<{ root: string; port: ManifestFileSystem }> {
  const base = await temporaryDirectory()
  for (const [name, node] of Object.entries(TREE)) {
    const path = join(base, name)
    if (node === 'folder') await mkdir(path)
    else if (node === 'fifo') execFileSync('mkfifo', [path])
    else if ('link' in node) await symlink(node.link, path)
    else {
      await writeFile(path, node.text)
      await utimes(path, node.mtimeMs / 1000, node.mtimeMs / 1000)
    }
  }
  return { root: join(base, 'root'), port: createLocalFileSystem(join(base, 'root')) }
}

/** The same tree as plain data, for tests that need no disk. */
async function inMemory(): Promise<{ root: string; port: ManifestFileSystem }> {
  const nodeAt = (path: string): Node => {
    const node = TREE[path.slice('/memory/'.length)]
    if (node === undefined) throw new Error(`ENOENT ${path}`)
    return node
  }
  const follow = (path: string, hops = 0): string => {
    const node = nodeAt(path)
    if (typeof node === 'string' || !('link' in node)) return path
    const target = posix.join(dirname(path), node.link)
    if (hops > 5 || !target.startsWith('/memory/root/')) throw new Error(`ELOOP ${path}`)
    return follow(target, hops + 1)
  }
  const kindOf = (node: Node): ManifestEntryKind => {
    if (node === 'folder') return 'directory'
    if (node === 'fifo') return 'other'
    return 'link' in node ? 'symlink' : 'file'
  }
  const fileAt = (path: string): { text: string; mtimeMs: number } => {
    const node = nodeAt(follow(path))
    if (typeof node === 'string' || 'link' in node) throw new Error(`not a file: ${path}`)
    return node
  }
  return {
    root: '/memory/root',
    port: {
      listDirectory: async ({ path }) => {
        if (nodeAt(path) !== 'folder') throw new Error(`ENOTDIR ${path}`)
        const paths = Object.keys(TREE).map((name) => `/memory/${name}`)
        const children = paths.filter((child) => dirname(child) === path)
        return { entries: children.map((child) => ({ path: child, kind: kindOf(nodeAt(child)) })) }
      },
      stat: async ({ path }) => {
        const kind = kindOf(nodeAt(path))
        try {
          const { text, mtimeMs } = fileAt(path)
          return { kind: 'file', mtimeMs, size: Buffer.byteLength(text) }
        } catch {
          return { kind }
        }
      },
      readTextFileRange: async ({ path, offsetLine, limitLines }) => {
        const lines = fileAt(path).text.split(/(?<=\n)/)
        return { content: lines.slice(offsetLine, offsetLine + limitLines).join('') }
      },
    },
  }
}

describe.each([
  ['the real disk', realDisk],
  ['an in-memory fake', inMemory],
])('the file-system port on %s', (_name, open) => {
  test('lists direct children with the kind of the entry itself', async () => {
    const { root, port } = await open()
    const { entries } = await port.listDirectory({ path: root }, {})
    const kinds = Object.fromEntries(
      entries.map(({ path, kind }) => [path.slice(root.length + 1), kind]),
    )
    expect(kinds).toStrictEqual({
      'a.md': 'file',
      sub: 'directory',
      'pipe.md': 'other',
      'in.md': 'symlink',
      'out.md': 'symlink',
      'dead.md': 'symlink',
      'folder.md': 'symlink',
      'loop.md': 'symlink',
    })
  })

  test.each(['none', 'a.md', 'folder.md'])('does not list %s', async (name) => {
    const { root, port } = await open()
    await expect(port.listDirectory({ path: join(root, name) }, {})).rejects.toThrow()
  })

  test('describes files, and links to files inside like their targets', async () => {
    const { root, port } = await open()
    const file = { kind: 'file', mtimeMs: 2000, size: 13 }
    expect(await port.stat({ path: join(root, 'sub/b.md') }, {})).toStrictEqual(file)
    expect(await port.stat({ path: join(root, 'in.md') }, {})).toStrictEqual(file)
    await expect(port.stat({ path: join(root, 'none') }, {})).rejects.toThrow()
  })

  test.each([
    ['sub', 'directory'],
    ['pipe.md', 'other'],
    ['out.md', 'symlink'],
    ['dead.md', 'symlink'],
    ['folder.md', 'symlink'],
    ['loop.md', 'symlink'],
  ])('describes %s as %s', async (name, kind) => {
    const { root, port } = await open()
    expect(await port.stat({ path: join(root, name) }, {})).toMatchObject({ kind })
  })

  test.each([
    [0, 30, 'one\ntwo\nthree'],
    [0, 2, 'one\ntwo\n'],
    [1, 1, 'two\n'],
    [2, 5, 'three'],
    [3, 5, ''],
    [0, 0, ''],
  ])('reads from line %d on %d lines', async (offsetLine, limitLines, content) => {
    const { root, port } = await open()
    const request = { path: join(root, 'sub/b.md'), offsetLine, limitLines }
    expect(await port.readTextFileRange(request, {})).toStrictEqual({ content })
  })

  test('reads a link to a file inside and an empty file', async () => {
    const { root, port } = await open()
    const read = (name: string): Promise<{ content: string }> =>
      port.readTextFileRange({ path: join(root, name), offsetLine: 0, limitLines: 1 }, {})
    expect(await read('in.md')).toStrictEqual({ content: 'one\n' })
    expect(await read('sub/data')).toStrictEqual({ content: '' })
  })

  test.each(['out.md', 'dead.md', 'loop.md', 'folder.md', 'sub', 'none', 'pipe.md'])(
    'does not read %s',
    async (name) => {
      const { root, port } = await open()
      const request = { path: join(root, name), offsetLine: 0, limitLines: 30 }
      await expect(port.readTextFileRange(request, {})).rejects.toThrow()
    },
  )

  test('gives the scan the same memories', async () => {
    const { root, port } = await open()
    const entries = await scanMemoryManifest({ rootDir: root, fileSystem: port })
    expect(entries.map(({ filePath: _path, ...rest }) => rest)).toStrictEqual([
      { filename: 'in.md', mtimeMs: 2000 },
      { filename: 'sub/b.md', mtimeMs: 2000 },
      { filename: 'a.md', mtimeMs: 1000, description: 'A.' },
    ])
  })
})

test('the local disk reads at most 64 KiB and leaves out the line that is cut there', async () => {
  const root = await temporaryDirectory()
  const port = createLocalFileSystem(root)
  const read = async (text: string, limitLines: number): Promise<string> => {
    await writeFile(join(root, 'a.md'), text)
    const request = { path: join(root, 'a.md'), offsetLine: 0, limitLines }
    return (await port.readTextFileRange(request, {})).content
  }
  const half = `${'é'.repeat(20_000)}\n`
  expect(await read(half + half, 30)).toBe(half)
  expect(await read('x'.repeat(70_000), 30)).toBe('')
  const full = `${'x'.repeat(65_535)}\n`
  expect(await read(full, 30)).toBe(full)
  const many = 'line\n'.repeat(10_000)
  expect(await read(many, 10_000)).toBe(many)
  expect(await read(many, 9000)).toBe('line\n'.repeat(9000))
})

test('bytes that are no UTF-8 are replaced', async () => {
  const root = await temporaryDirectory()
  await writeFile(join(root, 'a.md'), Buffer.from([0x61, 0xff, 0x0a]))
  const request = { path: join(root, 'a.md'), offsetLine: 0, limitLines: 1 }
  const head = await createLocalFileSystem(root).readTextFileRange(request, {})
  expect(head).toStrictEqual({ content: 'a\uFFFD\n' })
})
