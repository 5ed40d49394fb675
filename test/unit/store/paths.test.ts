import { createHash } from 'node:crypto'
import { mkdir, realpath, rename, symlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import {
  assertContainedMemoryPath,
  assertSafeMemoryFileName,
  isSafeMemoryFileName,
  projectSlug,
  resolveDshHome,
  resolveProjectMemoryPaths,
} from '../../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

/** A real temp directory by its real name (on some systems the temp directory is a link). */
async function place(): Promise<string> {
  return realpath(await temporaryDirectory())
}

test('DSH_HOME is read as the host reads it', () => {
  const home = (value?: string): string =>
    resolveDshHome(value === undefined ? {} : { DSH_HOME: value })
  expect(home()).toBe(join(homedir(), '.dsh'))
  expect(home('')).toBe(join(homedir(), '.dsh'))
  expect(home(' \t')).toBe(join(homedir(), '.dsh'))
  expect(home('~')).toBe(homedir())
  expect(home('~/x')).toBe(join(homedir(), 'x'))
  expect(home('~\\x')).toBe(join(homedir(), 'x'))
  expect(home('/data/dsh/')).toBe('/data/dsh')
  expect(home('/data/../dsh')).toBe('/dsh')
  expect(home('./d')).toBe(join(process.cwd(), 'd'))
  expect(home('~other/x')).toBe(join(process.cwd(), '~other/x'))
  expect(home('/with space ')).toBe('/with space ')
})

test('the environment is read at each call', async () => {
  const before = process.env['DSH_HOME']
  try {
    process.env['DSH_HOME'] = '/one'
    expect(resolveProjectMemoryPaths('/p').root).toMatch(/^\/one\/memories\/projects\//u)
    process.env['DSH_HOME'] = '/two'
    expect(resolveProjectMemoryPaths('/p').root).toMatch(/^\/two\/memories\/projects\//u)
  } finally {
    if (before === undefined) delete process.env['DSH_HOME']
    else process.env['DSH_HOME'] = before
  }
})

test('the directory is named by the base name and 16 digits of the hash of the path', () => {
  const { root, indexFilePath, slug, hash, projectRoot } = resolveProjectMemoryPaths(
    '/workspace/project',
    { DSH_HOME: '/h' },
  )
  expect(hash).toBe(createHash('sha256').update('/workspace/project').digest('hex').slice(0, 16))
  expect(hash).toBe('e3af8a7251583e76')
  expect(slug).toBe('project')
  expect(root).toBe('/h/memories/projects/project-e3af8a7251583e76/memory')
  expect(indexFilePath).toBe(`${root}/MEMORY.md`)
  expect(projectRoot).toBe('/workspace/project')
})

test('project slugs are one safe readable segment', () => {
  expect(projectSlug('My Project!')).toBe('my-project')
  expect(projectSlug('项目')).toBe('project')
  expect(projectSlug('')).toBe('project')
  expect(projectSlug('...')).toBe('...')
  expect(projectSlug('--a--')).toBe('a')
  expect(projectSlug('x'.repeat(60))).toBe('x'.repeat(48))
  expect(projectSlug(`${'x'.repeat(47)} y`)).toBe(`${'x'.repeat(47)}-`)
  expect(resolveProjectMemoryPaths('/', { DSH_HOME: '/h' }).root).toBe(
    '/h/memories/projects/project-8a5edab282632443/memory',
  )
})

test('projects whose names look alike have memories of their own', async () => {
  const home = await temporaryDirectory()
  const roots = ['/w/星河小铺', '/w/青石书屋', '/w/Lab_HW', '/w/Lab-HW', '/w/Lab.HW', '/x/星河小铺']
  const stores = roots.map(
    (root) => new ProjectMemoryStore(resolveProjectMemoryPaths(root, { DSH_HOME: home })),
  )
  expect(new Set(stores.map(({ paths }) => paths.root)).size).toBe(roots.length)
  for (const [at, store] of stores.entries()) {
    await store.save({ key: 'token', content: `token ${at}`, description: `token ${at}` })
  }
  for (const [at, store] of stores.entries()) {
    expect((await store.readIndex()).content).toBe(`- [token](token.md) — token ${at}\n`)
  }
})

test('all spellings of a project path, links included, are one memory', async () => {
  const at = await place()
  const env = { DSH_HOME: join(at, 'home') }
  const app = join(at, 'data', 'app')
  await mkdir(join(at, 'data', 'x'), { recursive: true })
  await mkdir(app)
  await symlink(app, join(at, 'link'))
  await symlink(join(at, 'data'), join(at, 'data-link'))
  const { root } = resolveProjectMemoryPaths(app, env)
  const spellings = [
    `${app}/`,
    join(at, 'data') + '/./app',
    join(at, 'data') + '/x/../app',
    `/${app}`,
    join(at, 'link'),
    join(at, 'link') + '/',
    join(at, 'data-link', 'app'),
    relative(process.cwd(), app),
  ]
  for (const spelling of spellings) expect(resolveProjectMemoryPaths(spelling, env).root).toBe(root)
})

test('a project that cannot be resolved is known by its path as given, and is not made', async () => {
  const at = await place()
  const env = { DSH_HOME: join(at, 'home') }
  const gone = join(at, 'gone')
  const before = resolveProjectMemoryPaths(join(at, 'x', '..', 'gone'), env)
  expect(before.projectRoot).toBe(gone)
  await mkdir(gone)
  expect(resolveProjectMemoryPaths(gone, env).root).toBe(before.root)
  await rename(gone, `${gone}2`)
  const store = new ProjectMemoryStore(before)
  expect(await store.save({ key: 'a', content: 'b' })).toMatchObject({ fileName: 'a.md' })
  await expect(realpath(gone)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a memory that exists only under the unresolved spelling is used', async () => {
  const at = await place()
  const env = { DSH_HOME: join(at, 'home') }
  const app = join(at, 'app')
  const link = join(at, 'link')
  await mkdir(app)
  await symlink(app, link)
  const given = resolveProjectMemoryPaths(link, env, 'given')
  const resolved = resolveProjectMemoryPaths(link, env)
  expect(given.root).not.toBe(resolved.root)
  expect(given.projectRoot).toBe(link)
  await mkdir(given.root, { recursive: true })
  expect(resolveProjectMemoryPaths(link, env).root).toBe(given.root)
  expect(resolveProjectMemoryPaths(app, env).root).toBe(resolved.root)
  await mkdir(resolved.root, { recursive: true })
  expect(resolveProjectMemoryPaths(link, env).root).toBe(resolved.root)
})

test('a project root must be a usable path', () => {
  for (const wrong of ['', 'a\0b', undefined, null, 7]) {
    expect(() => resolveProjectMemoryPaths(wrong as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    )
  }
})

test('homes with blanks, other scripts, a trailing slash or a link in them all work', async () => {
  const at = await place()
  const home = join(at, '配置 目录', 'dsh')
  await mkdir(home, { recursive: true })
  await symlink(home, join(at, 'home-link'))
  const save = async (dshHome: string, key: string): Promise<ProjectMemoryStore> => {
    const store = new ProjectMemoryStore(resolveProjectMemoryPaths('/p', { DSH_HOME: dshHome }))
    await store.save({ key, content: 'c', description: 'd' })
    return store
  }
  await save(`${home}/`, 'one')
  await save(relative(process.cwd(), home), 'two')
  const store = await save(join(at, 'home-link'), 'three')
  expect((await store.readIndex()).content).toBe(
    '- [one](one.md) — d\n- [two](two.md) — d\n- [three](three.md) — d\n',
  )
})

test('a path is contained when it lies strictly inside the memory directory', () => {
  const root = '/h/memory'
  for (const inside of [
    '/h/memory/a.md',
    '/h/memory/x/../a.md',
    '/h/memory/..foo.md',
    '/h/memory/a/b',
  ]) {
    expect(() => assertContainedMemoryPath(root, inside)).not.toThrow()
  }
  expect(assertContainedMemoryPath(root, '/h/memory/x/../a.md')).toBe('/h/memory/a.md')
  const outside = [
    '/h/memory',
    '/h/memory/',
    '/h/memory/..',
    '/h/memory/../a.md',
    '/h/memory2/a.md',
  ]
  for (const path of [...outside, 'a.md', '', '/h/memory/a\0.md', undefined]) {
    expect(() => assertContainedMemoryPath(root, path as string)).toThrow(
      expect.objectContaining({ code: 'UNSAFE_PATH' }) as Error,
    )
  }
})

test('a memory file name is one plain segment that ends in .md and is not the index', () => {
  for (const name of ['a.md', '规则.md', 'MEMORY (conflicted copy).md', 'a b.md', 'a.mdx.md']) {
    expect(assertSafeMemoryFileName(name)).toBe(name)
  }
  const unsafe = [
    '',
    '.md',
    'a',
    'a.MD',
    '.a.md',
    '-a.md',
    '../a.md',
    'a/b.md',
    'a\\b.md',
    'c:a.md',
    'a\n.md',
    'a\0.md',
    'a\u0085.md',
    '\ud800.md',
    'MEMORY.md',
    'memory.md',
    'Memory.md',
    `${'x'.repeat(253)}.md`,
    `${'规'.repeat(85)}.md`,
  ]
  for (const name of [...unsafe, undefined, 7]) {
    expect(isSafeMemoryFileName(name)).toBe(false)
    expect(() => assertSafeMemoryFileName(name as string)).toThrow(
      expect.objectContaining({ code: 'UNSAFE_PATH' }) as Error,
    )
  }
})
