import { mkdir, realpath, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createLocalFileSystem,
  formatMemoryManifest,
  scanMemoryManifest,
} from '../../../src/subsystems/manifest/index.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'
import { faulty, HEALTHY, put, scanNames } from './manifest-folder.ts'

test('a file is listed through a link only when the target lies inside the folder', async () => {
  const base = await temporaryDirectory()
  const root = join(base, 'root')
  await put(root, 'sub/data.txt', HEALTHY, 5)
  await put(root, 'MEMORY.md')
  await put(root, '.trash/gone.md')
  const secret = await put(base, 'secret.md', '---\ndescription: SECRET\n---\n')
  await put(`${root}-other`, 'near.md')
  await symlink('sub/data.txt', join(root, 'inside.md'))
  await symlink(secret, join(root, 'leak.md'))
  await symlink('inside.md', join(root, 'chain.md'))
  await symlink('leak.md', join(root, 'leaking-chain.md'))
  await symlink('../root-other/near.md', join(root, 'near.md'))
  await symlink('MEMORY.md', join(root, 'index.md'))
  await symlink('.trash/gone.md', join(root, 'trashed.md'))
  await symlink('/nope', join(root, 'dead.md'))
  await symlink('self.md', join(root, 'self.md'))
  await symlink('sub', join(root, 'folder.md'))
  const entries = await scanMemoryManifest({ rootDir: root })
  expect(entries.map(({ filename }) => filename)).toStrictEqual(['chain.md', 'inside.md'])
  expect(entries[1]).toMatchObject({ mtimeMs: 978_307_205_000, type: 'project' })
  expect(formatMemoryManifest(entries)).not.toContain('SECRET')
})

test('nothing of a link target is shown when a link replaces a memory folder', async () => {
  const base = await temporaryDirectory()
  await put(base, 'victim/memory/secret.md')
  const projects = join(base, 'home/memories/projects')
  await mkdir(join(projects, 'real-0123456789abcdef'), { recursive: true })
  await symlink(join(base, 'victim/memory'), join(projects, 'real-0123456789abcdef/memory'))
  await symlink(join(base, 'victim'), join(projects, 'link-0123456789abcdef'))
  const linkedProjects = join(base, 'other/memories')
  await mkdir(linkedProjects, { recursive: true })
  await symlink(projects, join(linkedProjects, 'projects'))
  await put(projects, 'good-0123456789abcdef/memory/fine.md')
  expect(await scanNames(join(projects, 'real-0123456789abcdef/memory'))).toStrictEqual([])
  expect(await scanNames(join(projects, 'link-0123456789abcdef/memory'))).toStrictEqual([])
  const throughProjects = join(linkedProjects, 'projects/good-0123456789abcdef/memory')
  expect(await scanNames(throughProjects)).toStrictEqual([])
})

test('links above the memory tree are the choice of the user and are followed', async () => {
  const base = await temporaryDirectory()
  const below = 'projects/good-0123456789abcdef/memory'
  await put(base, `disk/home/memories/${below}/fine.md`)
  await put(base, `disk/home/memories/${below}/sub/too.md`)
  await symlink(join(base, 'disk/home'), join(base, 'home'))
  await mkdir(join(base, 'second'))
  await symlink(join(base, 'disk/home/memories'), join(base, 'second/memories'))
  const wanted = ['fine.md', 'sub/too.md']
  expect(await scanNames(join(base, 'home/memories', below))).toStrictEqual(wanted)
  expect(await scanNames(join(base, 'second/memories', below))).toStrictEqual(wanted)
  expect(await scanNames(join(await realpath(base), 'disk/home/memories', below))).toStrictEqual(
    wanted,
  )
})

test('a folder that a link replaces after its listing shows nothing of the target', async () => {
  const base = await temporaryDirectory()
  const root = join(base, 'root')
  await put(root, 'sub/a.md', '---\ndescription: mine\n---\n')
  await put(base, 'outside/a.md', '---\ndescription: SECRET\n---\n')
  const disk = createLocalFileSystem(root)
  const fileSystem = faulty(root, {
    readTextFileRange: async (request, options) => {
      await rm(join(root, 'sub'), { recursive: true })
      await symlink(join(base, 'outside'), join(root, 'sub'))
      return disk.readTextFileRange(request, options)
    },
  })
  expect(await scanNames(root, fileSystem)).toStrictEqual([])
})
