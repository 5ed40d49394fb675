import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
import * as format from '../../../src/format/index.ts'
import * as prompt from '../../../src/prompt/index.ts'

const { cache } = createRequire(import.meta.url)
const isLoaded = (name: string): boolean =>
  Object.keys(cache).some((path) => path.includes(`/node_modules/${name}/`))

it('loads the parsers only for a text that needs them', () => {
  const file = format.renderMemoryFile({ name: 'n', description: 'd', type: 'user', body: 'b' })
  expect(format.readMemoryHeader(file)).toMatchObject({ name: 'n' })
  expect(prompt.renderMemoryContext('/m', '# Head\n- [A](a.md) — <!-- inline -->\n')).not.toBe('')
  expect(format.upsertIndexEntry('---\n', { title: 'A', fileName: 'a.md', hook: '' })).not.toBe('')
  expect([isLoaded('yaml'), isLoaded('marked')]).toStrictEqual([false, false])

  expect(format.readMemoryHeader('---\ndescription: plain\n---\n')).toMatchObject({})
  expect([isLoaded('yaml'), isLoaded('marked')]).toStrictEqual([true, false])

  expect(format.stripTopLevelHtmlComments('<!-- a -->\nb')).toBe('b')
  expect([isLoaded('yaml'), isLoaded('marked')]).toStrictEqual([true, true])
})
