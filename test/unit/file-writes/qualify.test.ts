/** Which paths a model may change by hand. */
import { link, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { qualifyPath } from '../../../src/file-writes/qualify.ts'
import type { TestMemory } from '../../support/test-memory.ts'
import { givenFiles, testMemory } from '../../support/test-memory.ts'

async function memoryWithFile(): Promise<TestMemory & { root: string }> {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': '', 'a.md': 'A\n' })
  return { ...memory, root: memory.paths.root }
}

describe('a path qualifies', () => {
  test('when a memory stands there or nothing does', async () => {
    const { root } = await memoryWithFile()
    const path = join(root, 'a.md')
    const file = { path, fileName: 'a.md', realPath: path, exists: true, isIndex: false }
    expect(await qualifyPath(path, root, false)).toEqual(file)
    expect(await qualifyPath(join(root, 'b c.md'), root, false)).toMatchObject({ exists: false })
  })

  test('before the first memory, when not even the directory is there', async () => {
    const { paths } = await testMemory()
    expect(await qualifyPath(join(paths.root, 'a.md'), paths.root, true)).toMatchObject({
      exists: false,
      realPath: join(paths.root, 'a.md'),
    })
  })

  test('as the index only where that is allowed', async () => {
    const { paths, root } = await memoryWithFile()
    expect(await qualifyPath(paths.indexFilePath, root, true)).toMatchObject({ isIndex: true })
    expect(await qualifyPath(paths.indexFilePath, root, false)).toBeUndefined()
  })

  test.each(['home', 'memories'])('in both spellings when %s is a link', async (place) => {
    const { home, root } = await memoryWithFile()
    const moved = place === 'home' ? home : join(home, 'memories')
    const store = `${home}-moved`
    onTestFinished(() => rm(store, { recursive: true, force: true }))
    await rename(moved, store)
    await symlink(store, moved)
    const inner = root.slice(moved.length)
    for (const spelling of [root, store + inner]) {
      expect(await qualifyPath(join(spelling, 'a.md'), root, false)).toMatchObject({
        path: join(spelling, 'a.md'),
        realPath: join(store + inner, 'a.md'),
      })
    }
  })
})

describe('a path does not qualify', () => {
  test.each([
    'a.sh',
    'a.MD',
    'a',
    '.md',
    '.a.md',
    '-a.md',
    'memory.md',
    'Memory.md',
    'a\n.md',
    'a:b.md',
    `${'x'.repeat(260)}.md`,
    'sub/a.md',
    '../a.md',
    './a.md',
    '/a.md',
    'a.md/',
    '.trash/a.md',
    'a.md\0',
  ])('by its name: %j', async (name) => {
    const { root } = await memoryWithFile()
    expect(await qualifyPath(`${root}/${name}`, root, true)).toBeUndefined()
  })

  test('when it is not absolute or lies elsewhere', async () => {
    const { home, root } = await memoryWithFile()
    await mkdir(`${root}-other`)
    for (const path of ['a.md', join(home, 'a.md'), join(`${root}-other`, 'a.md')]) {
      expect(await qualifyPath(path, root, true)).toBeUndefined()
    }
  })

  test('when something else than one plain file stands there', async () => {
    const { home, root } = await memoryWithFile()
    await writeFile(join(home, 'outside.md'), '')
    await symlink(join(home, 'outside.md'), join(root, 'link.md'))
    await symlink(join(home, 'nowhere.md'), join(root, 'dangling.md'))
    await link(join(home, 'outside.md'), join(root, 'twin.md'))
    await mkdir(join(root, 'folder.md'))
    for (const name of ['link.md', 'dangling.md', 'twin.md', 'folder.md']) {
      expect(await qualifyPath(join(root, name), root, true), name).toBeUndefined()
    }
  })

  test('when its directory is a link to another place, or cannot be one', async () => {
    const { home, root } = await memoryWithFile()
    await mkdir(join(home, 'elsewhere'))
    const linked = join(dirname(root), 'linked')
    await symlink(join(home, 'elsewhere'), linked)
    expect(await qualifyPath(join(linked, 'a.md'), root, true)).toBeUndefined()
    expect(await qualifyPath(join(root, 'a.md', 'b.md'), root, true)).toBeUndefined()
  })
})
