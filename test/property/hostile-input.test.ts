/**
 * Input that no well-meaning program writes: no parser throws, holds the process for more than a
 * second, or loses a byte that is not its own.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import {
  type IndexCodec,
  isWellFormedText,
  parseMemoryFrontmatter,
  readMemoryHeader,
  removeIndexEntry,
  restoreIndexEntry,
  scanIndexEntries,
  stripLeadingFrontmatter,
  stripTopLevelHtmlComments,
  textCodec,
  upsertIndexEntries,
  utf8BytesCodec,
  viewIndex,
} from '../../src/format/index.ts'
import { stampMemoryFile } from '../../src/format/stamp.ts'
import { localFileSystem } from '../../src/store/file-system.ts'
import { DEFAULT_LOCK_TIMES } from '../../src/store/lock.ts'
import { listTrash, readTrashedFile } from '../../src/store/trash.ts'
import { readManifestMetadata } from '../../src/subsystems/manifest/frontmatter.ts'
import { tokenizeCommand } from '../../src/subsystems/memory-agent/shell-tokenizer.ts'
import {
  FUZZ_TIMEOUT_MS,
  FuzzMeter,
  fuzzRuns,
  isSubsequence,
  lacking,
  without,
} from '../support/fuzz-meter.ts'
import { hostileWorld } from '../support/hostile-world.ts'
import { agentWorld, decideCall } from '../support/memory-agent-world.ts'
import { anyString, fileName } from './format-arbitraries.ts'
import {
  hostileBytes,
  hostileCommand,
  hostileEntries,
  hostileOrLargeText,
} from './hostile-arbitraries.ts'

const VIEW = { lineLimit: 200, characterLimit: 25_000 }
const meter = new FuzzMeter()

afterAll(() => meter.print())

function checkIndexEdits(
  text: string,
  entries: Parameters<typeof upsertIndexEntries>[1],
  name: string,
  codec: IndexCodec,
): void {
  const found = meter.quick('scan', () => scanIndexEntries(text, codec))
  let end = 0
  for (const entry of found) {
    expect(entry.start).toBeGreaterThanOrEqual(end)
    expect(entry.end).toBeGreaterThan(entry.start)
    expect(entry.blockEnd).toBeLessThanOrEqual(text.length)
    end = entry.end
  }
  const names = entries.map((entry) => entry.fileName)
  const upserted = meter.quick('upsert', () => upsertIndexEntries(text, entries, codec)).text
  expect(lacking(without(text, names, codec), upserted)).toBe(0)

  const { text: rest, removed } = meter.quick('remove', () => removeIndexEntry(text, name, codec))
  expect(rest.length).toBeLessThanOrEqual(text.length)
  expect(isSubsequence(rest, text)).toBe(true)
  if (removed.length === 0) expect(rest).toBe(text)
  const [one = { line: '- [Made up](made-up.md) — h\n', after: name }] = removed
  const restored = meter.quick('restore', () => restoreIndexEntry(rest, one, codec))
  expect(lacking(rest, restored)).toBe(0)
  expect(lacking(codec.encode(one.line), restored)).toBe(0)
}

test('an index of any content can be scanned, edited and shown, and an edit loses nothing of others', {
  timeout: FUZZ_TIMEOUT_MS,
}, () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 3, arbitrary: hostileOrLargeText }, anyString),
      hostileBytes,
      hostileEntries,
      fileName,
      (text, bytes, entries, name) => {
        checkIndexEdits(text, entries, name, textCodec)
        checkIndexEdits(bytes.toString('latin1'), entries, name, utf8BytesCodec)
        for (const overflow of ['head', 'recent'] as const) {
          const view = meter.quick('view', () =>
            viewIndex(text, { ...VIEW, overflow, mtimeMsOf: (file) => file.length || undefined }),
          )
          expect(isWellFormedText(view.text)).toBe(true)
          expect(view.shownCount).toBeLessThanOrEqual(view.entryCount)
          expect(view.text.length).toBeLessThanOrEqual(
            VIEW.characterLimit + view.warning.length + 2,
          )
        }
        const bare = meter.quick('frontmatter', () => stripLeadingFrontmatter(text))
        expect(text.endsWith(bare)).toBe(true)
        const kept = meter.quick('comments', () => stripTopLevelHtmlComments(text))
        expect(isSubsequence(kept, kept === text ? text : text.replaceAll(/\r\n?/g, '\n'))).toBe(
          true,
        )
      },
    ),
    { numRuns: fuzzRuns(1_000) },
  )
})

test('a memory file of any content has a header that can be read, and a stamp adds and removes nothing', {
  timeout: FUZZ_TIMEOUT_MS,
}, () => {
  fc.assert(
    fc.property(hostileBytes, (bytes) => {
      const text = bytes.toString('utf8')
      const header = meter.quick('header', () => readMemoryHeader(text))
      for (const value of Object.values(header)) expect(typeof value).toBe('string')
      meter.quick('parse', () => parseMemoryFrontmatter(text))
      const { description = '' } = meter.quick('manifest head', () => readManifestMetadata(text))
      expect(description).not.toMatch(/[\n\r\u2028\u2029]/)
      const stamped = meter.quick('stamp', () => stampMemoryFile(text, 'session-1'))
      if (stamped === text) return
      const tail = /\n---(?=\r?\n|(?![^]))[^]*/u.exec(text.slice(3))?.[0] ?? text
      expect(stamped.endsWith(tail)).toBe(true)
      expect(stampMemoryFile(stamped, 'session-2')).toBe(stamped)
    }),
    {
      numRuns: fuzzRuns(1_000),
      examples: [
        // A key that begins like a fence, in front of the fence.
        [Buffer.from('---\n\n---\0  node_type: memory\n\n---\nbody\n')],
      ],
    },
  )
})

test('a command of any content is read or refused, and the policy decides about it', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await agentWorld()
  fc.assert(
    fc.property(hostileCommand, fc.constantFrom(1, 1, 1, 1, 300, 5_000), (part, times) => {
      const command = part.repeat(times).slice(0, 200_000)
      const tokens = meter.quick('tokenizer', () => tokenizeCommand(command))
      expect('problem' in tokens || tokens.tokens.length >= 0).toBe(true)
      const shell = meter.quick('policy', () => decideCall(world, 'bash', { command }))
      expect(typeof shell.allowed).toBe('boolean')
      decideCall(world, 'write', { file_path: command })
    }),
    { numRuns: fuzzRuns(1_000) },
  )
})

test('a trash file of any content is left out or listed, and its bytes come back as they are', {
  timeout: FUZZ_TIMEOUT_MS,
}, async () => {
  const world = await hostileWorld()
  const context = {
    paths: world.paths,
    lockPath: `${world.paths.root}.lock`,
    fileSystem: localFileSystem,
    lockTimes: DEFAULT_LOCK_TIMES,
  }
  const record = fc.oneof(
    fc.json(),
    fc
      .record(
        { fileName: fc.oneof(fileName, anyString), title: fc.anything() },
        { requiredKeys: [] },
      )
      .map((value) => {
        try {
          return JSON.stringify(value) ?? ''
        } catch {
          return ''
        }
      }),
    anyString,
  )
  world.build(new Map())
  mkdirSync(join(world.paths.root, '.trash'))
  const path = join(world.paths.root, '.trash', '20260102T030405006Z-a.md.trash')
  await fc.assert(
    fc.asyncProperty(record, hostileBytes, fc.boolean(), async (line, bytes, isEnded) => {
      const content = Buffer.concat([Buffer.from(isEnded ? `${line}\n` : line), bytes])
      writeFileSync(path, content)
      const back = await meter.quickly('trash', async () => {
        const [item] = await listTrash(context)
        return item === undefined ? undefined : readTrashedFile(item, context)
      })
      if (back !== undefined) {
        expect(back.bytes.equals(content.subarray(content.indexOf('\n') + 1))).toBe(true)
      }
      expect(readFileSync(path).equals(content)).toBe(true)
    }),
    { numRuns: fuzzRuns(1_000) },
  )
})
