/** What a session knows of the index. */
import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import {
  isWhole,
  keepIndexObserved,
  observeInjectedIndex,
} from '../../../src/file-writes/index-observed.ts'
import { readInjectedIndex } from '../../../src/session/injected-index.ts'
import type { InjectedIndex } from '../../../src/session/injected-index.ts'
import { diskHost } from '../../support/disk-host.ts'
import { anotherStore, givenFiles, indexOf, testMemory } from '../../support/test-memory.ts'

const ACTOR = {}
const SETTINGS = {
  indexLineLimit: 3,
  indexCharacterLimit: 25_000,
  overflow: 'head' as const,
}

async function injected(text: string) {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': text })
  const { index } = readInjectedIndex(memory.paths, SETTINGS)
  return { memory, host: diskHost(memory), index }
}

describe('an injected index', () => {
  test.each([
    '- [A](a.md)\n',
    '- [A](a.md)',
    '\ufeff# Notes\r\n\r\n- [A](a.md) — x\r\n',
    '# {{x}}\n',
  ])('is whole when no line is left out: %j', async (text) => {
    const { host, index, memory } = await injected(text)
    expect(isWhole(index)).toBe(true)
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    expect(host.observation(memory.paths.indexFilePath)?.kind).toBe('present')
  })

  test.each([
    '---\nname: x\n---\n- [A](a.md)\n',
    '<!-- hidden -->\n- [A](a.md)\n',
    '1\n2\n3\n4\n',
    'a\rb\n',
    '',
  ])('is not when something is: %j', async (text) => {
    const { host, index, memory } = await injected(text)
    expect(isWhole(index)).toBe(false)
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    expect(host.observation(memory.paths.indexFilePath)).toBeUndefined()
  })

  test('is not read when the file is another by now, or gone', async () => {
    const { host, index, memory } = await injected('- [A](a.md)\n')
    await givenFiles(memory, { 'MEMORY.md': '- [B](b.md)\n' })
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    await rm(memory.paths.indexFilePath)
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    expect(host.observation(memory.paths.indexFilePath)).toBeUndefined()
  })

  test('is not read when it is replaced by the same text while it is looked at', async () => {
    const { host, index, memory } = await injected('- [A](a.md)\n')
    const { stat } = host.fs
    host.fs.stat = async (target) => {
      const seen = await stat(target)
      await givenFiles(memory, { 'MEMORY.md': '- [A](a.md)\n' })
      return seen
    }
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    expect(host.observation(memory.paths.indexFilePath)).toBeUndefined()
  })

  test.each<InjectedIndex>([
    { kind: 'none', text: '' },
    { kind: 'absent', text: '' },
    { kind: 'inherited', text: 'x' },
    { kind: 'unreadable', text: 'x', reason: 'y' },
  ])('that was not shown is not read: $kind', async (index) => {
    const { host, memory } = await injected('x\n')
    await observeInjectedIndex(host, ACTOR, memory.paths, index)
    expect(host.observation(memory.paths.indexFilePath)).toBeUndefined()
  })
})

describe('after a save', () => {
  const save = { key: 'Rule', content: 'body' }

  test('the index stays known to a session that knew it', async () => {
    for (const text of ['- [A](a.md)\n', '- [A](a.md)', '- [Rule](rule.md) — old\n- [A](a.md)\n']) {
      const { host, memory } = await injected(text)
      const { indexFilePath } = memory.paths
      await host.read(indexFilePath)
      const known = host.observation(indexFilePath)
      await keepIndexObserved(host, ACTOR, memory.paths, () => memory.store.save(save))
      const now = host.observation(indexFilePath)
      expect(now).not.toEqual(known)
      await host.read(indexFilePath)
      expect(host.observation(indexFilePath)).toEqual(now)
    }
  })

  test('stays unknown to one that did not', async () => {
    const { host, memory } = await injected('- [A](a.md)\n')
    await keepIndexObserved(host, ACTOR, memory.paths, () => memory.store.save(save))
    expect(host.observation(memory.paths.indexFilePath)).toBeUndefined()
  })

  test('is not known when another session wrote in between', async () => {
    const { host, memory } = await injected('- [A](a.md)\n')
    const { indexFilePath } = memory.paths
    await host.read(indexFilePath)
    const known = host.observation(indexFilePath)
    await keepIndexObserved(host, ACTOR, memory.paths, async () => {
      await anotherStore(memory).save({ key: 'Other', content: 'body' })
      return memory.store.save(save)
    })
    expect(await indexOf(memory)).toContain('other.md')
    expect(host.observation(indexFilePath)).toEqual(known)
  })

  test('is not known when it was already another', async () => {
    const { host, memory } = await injected('- [A](a.md)\n')
    const { indexFilePath } = memory.paths
    await host.read(indexFilePath)
    const known = host.observation(indexFilePath)
    await givenFiles(memory, { 'MEMORY.md': '- [A](a.md)\n- [B](b.md)\n' })
    await keepIndexObserved(host, ACTOR, memory.paths, () => memory.store.save(save))
    expect(host.observation(indexFilePath)).toEqual(known)
  })
})

describe('after a forget', () => {
  test('the index stays known, and errors come through', async () => {
    const { host, memory } = await injected('- [A](a.md)\n- [B](b.md)\n')
    const { indexFilePath } = memory.paths
    await givenFiles(memory, { 'a.md': 'A' })
    await host.read(indexFilePath)
    const forget = (fileName: string) =>
      keepIndexObserved(host, ACTOR, memory.paths, () => memory.store.forget({ fileName }))
    await forget('a.md')
    const now = host.observation(indexFilePath)
    await host.read(indexFilePath)
    expect(host.observation(indexFilePath)).toEqual(now)
    await expect(forget('a.md')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
