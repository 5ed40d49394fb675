/** Bytes and folders as no well-meaning program leaves them. */
import * as fc from 'fast-check'
import { renderMemoryFile } from '../../src/format/index.ts'
import { anyText, entry, index } from './format-arbitraries.ts'

/** Pieces that one of the parsers gives a meaning to. */
const PIECES = [
  ['\n', '\r\n', '\r', '\n\n', '\t', ' ', '    ', '\0', '\ufeff', '\u2028', '\u0085', 'é', '🚀'],
  ['---\n', '---', '...\n', 'metadata:\n', '  type: user\n', 'description: ', 'name: "', '"\n'],
  ['  title: ', '  originSessionId: x\n', '  node_type: memory\n', '  x: |\n', '? ', '- ', ': '],
  ['&a ', '*a', '<<: *a\n', '!!binary ', '%YAML 1.1\n', '{', '}', '[', ']', ', ', '#', "'", '>\n'],
  ['- [T](a.md) — h\n', '* a.md: h\n', '  - [T](<./a.md>)\n', '[x]', '(', ')', '](', '\\', '%2E'],
  ['```\n', '````', '~~~\n', '<!--', '-->', '<!-->', '> ', '1. ', '# ', '***\n', '<div>', '</div>'],
].flat()

const pieces = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...PIECES) }, anyText), { maxLength: 40 })
  .map((parts) => parts.join(''))

/** One shape over and over: what is linear stays quick. */
const repeated = fc
  .tuple(
    fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 }),
    fc.constantFrom(50, 1_000, 20_000),
    fc.constantFrom('', '---\n', '---\na: ', '<!--', '- [T](a.md) — h\n', '```\n'),
    fc.constantFrom('', '\n---\n', '-->', '\n- [T](a.md) — h'),
  )
  .map(([parts, count, head, tail]) => head + parts.join('').repeat(count) + tail)

const memoryFile = fc
  .record({
    name: anyText,
    description: anyText,
    type: fc.constantFrom('user', 'project', 'reference', 'none'),
    title: fc.option(anyText, { nil: undefined }),
    originSessionId: fc.option(anyText, { nil: undefined }),
    body: fc.oneof(anyText, pieces),
  })
  .map((memory) => renderMemoryFile(memory as Parameters<typeof renderMemoryFile>[0]))

/** Text of every kind, well-formed. */
export const hostileText = fc.oneof(
  { weight: 4, arbitrary: index },
  { weight: 4, arbitrary: memoryFile },
  { weight: 4, arbitrary: pieces },
  { weight: 4, arbitrary: pieces.map((text) => `---\n${text}\n---\nbody\n`) },
  { weight: 1, arbitrary: anyText },
)

/** The same, one in about a hundred of them large. */
export const hostileOrLargeText = fc.oneof(
  { weight: 99, arbitrary: hostileText },
  { weight: 1, arbitrary: repeated },
)

type Damage = (bytes: Buffer) => Buffer

/** What disks, editors and other programs do to a file. */
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }).map(
    (at): Damage =>
      (bytes) =>
        bytes.subarray(0, at * bytes.length),
  ),
  fc.double({ min: 0, max: 1, noNaN: true }).map(
    (at): Damage =>
      (bytes) =>
        bytes.subarray(at * bytes.length),
  ),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.uint8Array({ maxLength: 4 })).map(
    ([share, inserted]): Damage =>
      (bytes) => {
        const at = Math.floor(share * bytes.length)
        return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)])
      },
  ),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 7 })).map(
    ([share, bit]): Damage =>
      (bytes) => {
        const flipped = Buffer.from(bytes)
        const at = Math.min(bytes.length - 1, Math.floor(share * bytes.length))
        if (at >= 0) flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at)
        return flipped
      },
  ),
  fc.constantFrom<Damage>(
    (bytes) => Buffer.concat([bytes, bytes]),
    (bytes) => Buffer.from(bytes.toString('utf8'), 'utf16le'),
    (bytes) => Buffer.from(bytes.toString('utf8'), 'latin1'),
    (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
    (bytes) => Buffer.concat([bytes, Buffer.alloc(64)]),
    (bytes) => Buffer.from(bytes.toString('utf8').replaceAll('\n', '\r\n')),
  ),
)

function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(text, fc.array(damage, { maxLength: 2 }))
    .map(([value, damages]) =>
      damages.reduce<Buffer>((bytes, change) => change(bytes), Buffer.from(value)),
    )
}

/** Bytes of a file, mostly of a known shape and then damaged. */
export const hostileBytes = fc.oneof(
  { weight: 9, arbitrary: damaged(hostileOrLargeText) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
)

/** What stands under a name in a folder. */
export type HostileItem =
  | { kind: 'file'; bytes: Buffer }
  | { kind: 'folder'; names: readonly string[] }
  | { kind: 'link'; target: string }
  | { kind: 'hardlink' | 'fifo' | 'device' | 'endless' | 'socket' }
  | { kind: 'holes'; bytes: number }

/** Names that a save of {@link hostileKeys} may want, and others. */
export const HOSTILE_NAMES = [
  'rule.md',
  'RULE.md',
  'part-b.md',
  'a.md',
  'ä.md',
  'my notes.md',
  'note.txt',
  '.hidden.md',
  '.trash',
  'sub',
  'line\nbreak.md',
  `${'long'.repeat(60)}.md`,
]

const smallBytes = damaged(hostileText)

/** `outside:` and `inside:` are put in by who builds the folder. */
const LINK_TARGETS = [
  'outside:secret.md',
  'outside:',
  'inside:a.md',
  'inside:',
  '.',
  '..',
  'gone.md',
  '/dev/zero',
  '/proc/self/mem',
]
const SPECIAL_KINDS = ['hardlink', 'fifo', 'device', 'endless', 'socket'] as const
const HOLE_SIZES = [70_000, 5 * 1024 * 1024 + 1, 2 ** 40]

const item: fc.Arbitrary<HostileItem> = fc.oneof(
  { weight: 10, arbitrary: smallBytes.map((bytes) => ({ kind: 'file' as const, bytes })) },
  {
    weight: 2,
    arbitrary: fc
      .subarray(['a.md', 'MEMORY.md', 'deep', 'x.trash'])
      .map((names) => ({ kind: 'folder' as const, names })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(...LINK_TARGETS)
      .map((target) => ({ kind: 'link' as const, target })),
  },
  { weight: 4, arbitrary: fc.constantFrom(...SPECIAL_KINDS).map((kind) => ({ kind })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...HOLE_SIZES).map((bytes) => ({ kind: 'holes' as const, bytes })),
  },
)

/** The index: mostly text that can be edited, sometimes anything at all, sometimes none. */
const indexItem: fc.Arbitrary<HostileItem | undefined> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .oneof(index, hostileText)
      .map((text) => ({ kind: 'file' as const, bytes: Buffer.from(text) })),
  },
  { weight: 2, arbitrary: smallBytes.map((bytes) => ({ kind: 'file' as const, bytes })) },
  { weight: 2, arbitrary: item },
  { weight: 1, arbitrary: fc.constant(undefined) },
)

/** A memory folder by name; `undefined` stands for a memory that is no folder of its own. */
export const hostileFolder = fc
  .tuple(indexItem, fc.dictionary(fc.constantFrom(...HOSTILE_NAMES), item, { maxKeys: 5 }))
  .map(([indexOf, items]) => {
    const folder = new Map<string, HostileItem>(Object.entries(items))
    if (indexOf !== undefined) folder.set('MEMORY.md', indexOf)
    return folder
  })

export type HostileFolder = ReadonlyMap<string, HostileItem>

const SPECIAL_ITEMS: readonly HostileItem[] = [
  ...LINK_TARGETS.map((target) => ({ kind: 'link' as const, target })),
  ...SPECIAL_KINDS.map((kind) => ({ kind })),
  ...HOLE_SIZES.map((bytes) => ({ kind: 'holes' as const, bytes })),
  { kind: 'folder', names: ['a.md'] },
]

/** Everything that is no plain file, once as the index and once as the file of `Rule`. */
export const SPECIAL_FOLDERS: readonly HostileFolder[] = SPECIAL_ITEMS.flatMap((one) => [
  new Map([['MEMORY.md', one]]),
  new Map<string, HostileItem>([
    ['MEMORY.md', { kind: 'file', bytes: Buffer.from('- [Rule](rule.md) — h\n') }],
    ['rule.md', one],
  ]),
])

/** What is saved into such a folder. */
export const hostileSave = fc.record({
  key: fc.constantFrom('Rule', 'rule', 'part b', 'A', 'ä', 'New one'),
  content: fc.oneof(
    fc.constant('c'),
    anyText.map((text) => `x${text.replaceAll('\0', ' ')}`),
  ),
  description: fc.oneof(
    fc.constant('d'),
    anyText.map((text) => text.replaceAll('\0', ' ')),
  ),
})

/** Pieces that a shell or the policy gives a meaning to. */
const SHELL_PIECES = [
  ['rm ', 'cat ', 'find . ', 'grep -r ', 'ls ', 'sed -n ', 'head ', 'a.md', '*.md', '**/'],
  ['-exec ', '-name ', '-delete', '--', ' ', '\t', '\n', '|', '||', '&&', ';', '&', '>', '2>'],
  ['$(', '`', '${IFS}', '$HOME', "'", '"', '\\', '\\\n', '{a,b}', '{1..9}', '[a-z]', '[!', '?'],
  ['~', '../', '/dev/null', '#', '!', '=', '<<', '\0', '\u0001', '\u200b', '\u00a0', '\r', '😀'],
].flat()

/** Commands of a shell, broken in every way. */
export const hostileCommand = fc
  .array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...SHELL_PIECES) }, anyText), {
    maxLength: 20,
  })
  .map((parts) => parts.join(''))

/** Entries to write into an index. */
export const hostileEntries = fc.array(entry, { minLength: 1, maxLength: 3 })
