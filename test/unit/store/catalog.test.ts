import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { readCatalog } from '../../../src/store/catalog.ts'
import { watchFileSystem } from '../../support/faulty-file-system.mjs'
import { givenFiles, testMemory } from '../../support/test-memory.ts'

describe('the catalog', () => {
  test('takes the title from the file, else from the index, else from the name', async () => {
    const memory = await testMemory()
    await givenFiles(memory, {
      'MEMORY.md': '- [Listed](listed.md)\n- [Other](titled.md)\n- bare.md: hook\n',
      'titled.md': '---\nmetadata:\n  title: "Written"\n---\n',
      'listed.md': 'x',
      'bare.md': 'x',
    })
    const { entries } = await readCatalog(memory.paths)
    expect(Object.fromEntries(entries.map(({ fileName, title }) => [fileName, title]))).toEqual({
      'titled.md': 'Written',
      'listed.md': 'Listed',
      'bare.md': 'bare',
    })
  })

  test('does not tell of a file that goes while it is read, unless the index does', async () => {
    const memory = await testMemory()
    await givenFiles(memory, {
      'MEMORY.md': '- [Listed](listed.md)\n',
      'listed.md': 'x',
      'gone.md': 'x',
    })
    const { fileSystem } = watchFileSystem(async ({ name, path }) => {
      const isMemory = path.endsWith('.md') && path !== memory.paths.indexFilePath
      if (name === 'lstat' && isMemory) await rm(path, { force: true })
    })
    const { entries } = await readCatalog(memory.paths, fileSystem)
    expect(entries.map(({ fileName, problem }) => [fileName, problem])).toEqual([
      ['listed.md', 'missing'],
    ])
  })
})
