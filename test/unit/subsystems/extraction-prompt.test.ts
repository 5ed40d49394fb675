import { expect, test } from 'vitest'
import { buildMemoryExtractionPrompt } from '../../../src/subsystems/extraction/index.ts'

const ENTRIES = ['a.md', 'b.md']
const formatManifest = (entries: readonly string[]): string =>
  entries.map((name) => `- ${name}`).join('\n')

function positionsOf(text: string, points: readonly string[]): number[] {
  return points.map((point) => text.indexOf(point))
}

test('the points come in order, the list of existing files after the rule about sources', () => {
  const prompt = buildMemoryExtractionPrompt({
    manifest: ENTRIES,
    messageCount: 12,
    formatManifest,
  })
  const positions = positionsOf(prompt, [
    'memory extraction agent',
    '- `read`, `grep` and `glob`',
    '- `bash`',
    '- `write` and `edit`',
    'Any other call is refused',
    'in parallel',
    'no git',
    '## Existing memory files\n\n- a.md\n- b.md\n\n',
    'update that file',
    'Nothing to save.',
    'asked to remember',
    'asked to forget',
    'Persistent Project Memory',
  ])
  expect(positions).not.toContain(-1)
  expect(positions).toStrictEqual(positions.toSorted((a, b) => a - b))
  expect(prompt.match(/last 12 messages/g)).toHaveLength(2)
})

test('without existing files there is no list and its formatter is not called', () => {
  const prompt = buildMemoryExtractionPrompt({
    manifest: [],
    messageCount: 1,
    formatManifest: () => expect.unreachable(),
  })
  expect(prompt).not.toContain('Existing memory files')
  expect(prompt).toContain('last message ')
  const blank = { manifest: ENTRIES, messageCount: 1, formatManifest: () => ' \n' }
  expect(buildMemoryExtractionPrompt(blank)).toBe(prompt)
})

test('the text stays under 2,500 characters besides the list', () => {
  const messageCount = Number.MAX_SAFE_INTEGER
  const prompt = buildMemoryExtractionPrompt({
    manifest: ['x'],
    messageCount,
    formatManifest: () => 'x',
  })
  expect(prompt.length).toBeLessThan(2500)
})

test('the format that it asks for is the one that a memory file has', () => {
  const prompt = buildMemoryExtractionPrompt({ manifest: [], messageCount: 1, formatManifest })
  expect(prompt).toMatch(/^---\nname: ".*"\ndescription: ".*"\nmetadata:\n {2}type: .*\n---$/m)
  expect(prompt).toContain('- [Title](file-name.md) — short hook')
})

test.each([-1, 1.5, Number.NaN, '3'])('the message count %s is refused', (messageCount) => {
  const input = { manifest: [], messageCount: messageCount as number, formatManifest }
  expect(() => buildMemoryExtractionPrompt(input)).toThrow(TypeError)
})
