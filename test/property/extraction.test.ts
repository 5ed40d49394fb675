import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  countMessagesAfterCursor,
  createMemoryExtractionScheduler,
  evaluateMemoryExtraction,
  type MemoryExtractionSnapshot,
  type MemoryTranscriptMessage,
} from '../../src/subsystems/extraction/index.ts'
import { hasWords } from '../../src/subsystems/extraction/words.ts'

const anything = fc.anything({ maxDepth: 3 })

const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'grapheme' }) }),
  fc.record({
    type: fc.constant('tool'),
    tool: fc.constantFrom('write', 'edit', 'save_project_memory', 'bash'),
    state: fc.oneof(fc.record({ input: anything }), anything),
  }),
  anything,
)

const message = fc.oneof(
  fc.record({
    info: fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      role: fc.constantFrom('user', 'assistant', 'system'),
    }),
    parts: fc.array(part, { maxLength: 4 }),
  }),
  anything,
)

test('any transcript gives a decision with a count within the history', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.option(anything), (messages, cursor) => {
      const snapshot: MemoryExtractionSnapshot = {
        boundaryMessageId: 'd',
        durableMessages: messages as MemoryTranscriptMessage[],
        memoryRoot: '/m',
      }
      const { decision, messageCount } = evaluateMemoryExtraction(snapshot, cursor as string)
      expect(['run', 'skip']).toContain(decision)
      expect(messageCount).toBe(countMessagesAfterCursor(snapshot, cursor as string))
      expect(messageCount).toBeGreaterThanOrEqual(0)
      expect(messageCount).toBeLessThanOrEqual(messages.length)
    }),
    { numRuns: 2000 },
  )
})

test('in any interleaving one run at a time ends at the newest snapshot, cursors never go back', async () => {
  const step = fc.constantFrom('schedule', 'schedule rejected', 'drain', 'turn')
  const result = fc.constantFrom('success', 'no-op', 'error', 'throw')
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.array(result, { minLength: 1 }),
      async (clock, steps, results) => {
        let running = 0
        let scheduled = 0
        let count = 0
        const cursors: number[] = []
        const scheduler = createMemoryExtractionScheduler(async ({ snapshot }) => {
          running += 1
          expect(running).toBe(1)
          cursors.push(Number(scheduler.getCursor() ?? 0))
          await clock.schedule(Promise.resolve(), `run ${snapshot.boundaryMessageId}`)
          running -= 1
          const outcome = results[count % results.length]
          count += 1
          if (outcome === 'throw') throw new Error('thrown')
          return outcome === 'no-op' || outcome === 'success' ? outcome : 'error'
        })
        for (const name of steps) {
          if (name === 'schedule') {
            scheduled += 1
            scheduler.schedule(snapshotAt(scheduled))
          } else if (name === 'schedule rejected')
            scheduler.schedule(Promise.reject(new Error(name)))
          else if (name === 'drain') await clock.waitFor(scheduler.drain())
          else await Promise.resolve()
        }
        await clock.waitFor(scheduler.drain())
        results.fill('success')
        scheduler.schedule(snapshotAt(scheduled + 1))
        await clock.waitFor(scheduler.drain())
        expect(scheduler.getCursor()).toBe(String(scheduled + 1))
        expect(scheduler.hasPendingWork()).toBe(false)
        expect(cursors).toStrictEqual(cursors.toSorted((a, b) => a - b))
      },
    ),
    { numRuns: 300 },
  )
})

test('words are counted as Intl.Segmenter counts them, in any script', () => {
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' })
  const count = (text: string): number =>
    Array.from(segmenter.segment(text.slice(0, 4096))).filter(({ isWordLike }) => isWordLike).length
  const letter = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.integer({ min: 0x4e_00, max: 0x9f_ff }).map((point) => String.fromCodePoint(point)),
    fc.constantFrom(
      ' ',
      ' ',
      '\u3000',
      '\u200B',
      '\u00A0',
      '\n',
      '，',
      '：',
      '.',
      "'",
      '_',
      '-',
      '1',
    ),
    fc.constantFrom(
      '々',
      '\uFF9E',
      '①',
      '½',
      '\u0301',
      '\u200D',
      'ภ',
      'ค',
      'の',
      'ー',
      '🚀',
      '\uD83D',
    ),
    fc.constantFrom('记住', '的', '中华人民共和国', '二十四小时', 'word'),
  )
  const plain = fc.oneof(
    fc.string({ minLength: 1, maxLength: 1 }),
    fc.integer({ min: 0x4e_00, max: 0x9f_ff }).map((point) => String.fromCodePoint(point)),
    fc.constantFrom('，', '。', '：', '；', '！', '？', '、', '（', '“', '…', '\u3000', '\n'),
    fc.constantFrom('记住', '的', '中华人民共和国', '二十四小时', 'word', '1', '.', "'", '_'),
  )
  const text = fc.oneof(
    fc.array(plain, { maxLength: 12 }).map((letters) => letters.join('')),
    fc.array(plain, { maxLength: 90 }).map((letters) => letters.join('')),
    fc.array(letter, { maxLength: 12 }).map((letters) => letters.join('')),
    fc.array(letter, { maxLength: 80 }).map((letters) => letters.join('')),
  )
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 4 }), (value, minimum) => {
      expect(hasWords(value, minimum)).toBe(count(value) >= minimum)
    }),
    { numRuns: 20_000 },
  )
})

function snapshotAt(last: number): MemoryExtractionSnapshot {
  const durableMessages = Array.from({ length: last }, (_, index) => ({
    info: { id: String(index + 1), role: 'user' },
    parts: [{ type: 'text', text: 'three words here' }],
  }))
  return { boundaryMessageId: String(last), durableMessages }
}
