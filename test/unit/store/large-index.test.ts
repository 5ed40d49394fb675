import { expect, test } from 'vitest'
import { parseSaveRequest } from '../../../src/store/save-request.ts'
import { giveBackScratch, takeScratch } from '../../../src/store/scratch.ts'
import { givenFiles, indexOf, testMemory } from '../../support/test-memory.ts'
import type { TestMemory } from '../../support/test-memory.ts'

function linesOf(name: string, count: number): string {
  const hook = 'ein Satz, der länger ist als nötig — 规则'
  return Array.from(
    { length: count },
    (_, at) => `- [${name} ${at}](${name}-${at}.md) — ${hook}\n`,
  ).join('')
}

async function memoryOf(index: string): Promise<TestMemory> {
  const memory = await testMemory()
  await givenFiles(memory, { 'MEMORY.md': index })
  return memory
}

test('large indexes of several memories that are saved at once do not mix', async () => {
  const names = ['alpha', 'beta', 'gamma', 'delta']
  const indexes = names.map((name, at) => linesOf(name, 2_000 + 500 * at))
  const memories = await Promise.all(indexes.map(memoryOf))
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      memories.map(({ store }) =>
        store.save({ key: `new ${round}`, content: 'c', description: 'd' }),
      ),
    )
  }
  const added = [0, 1, 2].map((round) => `- [new ${round}](new-${round}.md) — d\n`).join('')
  for (const [at, memory] of memories.entries()) {
    expect(await indexOf(memory)).toBe(`${indexes[at]}${added}`)
  }
})

test('a line in the middle of a large index is replaced in place, under a comment and code too', async () => {
  const head = '<!-- kept by hand -->\n\n```\n- [rule](rule-700.md)\n```\n\n'
  const memory = await memoryOf(`${head}${linesOf('rule', 1_000)}`)
  await memory.store.save({ key: 'rule-500', content: 'c', description: 'new' })
  const expected = `${head}${linesOf('rule', 1_000)}`.replace(
    /^.*\(rule-500\.md\).*$/mu,
    '- [rule-500](rule-500.md) — new',
  )
  expect(await indexOf(memory)).toBe(expected)
})

test('who asks for the published index gets it as it is on the disk', async () => {
  const memory = await memoryOf(linesOf('rule', 50))
  const requests = ['one', 'two'].map((key) =>
    parseSaveRequest({ key, content: 'c', description: 'd' }),
  )
  const saved = await Promise.all(requests.map((request) => memory.store.commit(request)))
  const index = Buffer.from(await indexOf(memory)).toString('latin1')
  expect(saved.map(({ indexText }) => indexText)).toEqual([index, index])
  const again = await memory.store.commit(
    parseSaveRequest({ key: 'one', content: 'c2', description: 'd' }),
  )
  expect(again).toMatchObject({ indexText: index, replaced: true })
})

test('memory that is taken is nobody else’s until it is given back', () => {
  const one = takeScratch(1_000)
  const two = takeScratch(1_000)
  expect(one.length).toBeGreaterThanOrEqual(1_000)
  expect(two.buffer).not.toBe(one.buffer)
  giveBackScratch(one)
  expect(takeScratch(500)).toBe(one)
  const large = takeScratch(3 * 1024 * 1024)
  giveBackScratch(large)
  expect(takeScratch(1)).not.toBe(large)
})
