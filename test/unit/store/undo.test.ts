import { stat, utimes } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { resolveProjectMemoryPaths } from '../../../src/store/paths.ts'
import { ProjectMemoryStore } from '../../../src/store/store.ts'
import { temporaryDirectory } from '../../support/temp-directory.ts'

test('a memory that is had back has its old time, so that it is not the newest by that', async () => {
  const directory = await temporaryDirectory()
  const store = new ProjectMemoryStore(
    resolveProjectMemoryPaths(directory, { DSH_HOME: directory }),
  )
  const { fileName, filePath } = await store.save({ key: 'Old rule', content: 'Kept since long.' })
  const old = new Date('2026-01-01T00:00:00Z')
  await utimes(filePath, old, old)
  await store.forget({ fileName })
  await store.undo()
  expect((await stat(filePath)).mtime).toEqual(old)
})
