/** Texts and indexes for the properties of the format. */

import * as fc from 'fast-check'
import { renderIndexEntry } from '../../src/format/index.ts'

/** Pieces that mean something to Markdown, YAML, file systems or terminals. */
const AWKWARD = [
  Array.from('aB -."\':#`[]()<>%\\\n\t\0é🚀\u2028\u0085\ufeff\u200d\u202e'),
  [
    '.md',
    'con',
    'memory',
    '<!--',
    '-->',
    '```',
    '~~~',
    '---',
    '\r\n',
    'e\u0301',
    '部署',
    '{{',
    '}}',
  ],
].flat()

/** Any well-formed text, from single letters to the characters that make trouble. */
export const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.constantFrom(...AWKWARD), { maxLength: 24 }).map((parts) => parts.join('')),
)
/** The same with lone surrogates. */
export const anyString = fc.oneof(
  anyText,
  fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 })).map((codes) => String.fromCharCode(...codes)),
)
export const fileName = fc.constantFrom(
  'a.md',
  'b-c.md',
  'd_1.md',
  'ä.md',
  'my notes (1).md',
  '100%.md',
)
export const entry = fc.record({ title: anyText, fileName, hook: anyText })
/** Lines of an index: entries in several dialects, prose, fences, comments. */
const indexLine = fc.oneof(
  { weight: 4, arbitrary: entry.map((one) => renderIndexEntry(one)) },
  fileName.map((name) => `* ${name.replace(' (1)', '').replace(' ', '')}: hook`),
  fileName.map((name) => `  - [T](<./${encodeURI(name)}>) -- hook`),
  fc.constantFrom(
    '# Head',
    '',
    '  ',
    '  detail',
    '\tdetail',
    'prose',
    '- see [x](a.md)',
    '> quote',
  ),
  fc.constantFrom(
    '```',
    '````md',
    '~~~',
    '  ```',
    '<!-- one -->',
    '<!--',
    '-->',
    '- ```',
    '---',
    '\ufeff',
  ),
  anyText,
)
export const index = fc
  .tuple(
    fc.array(fc.tuple(indexLine, fc.constantFrom('\n', '\n', '\r\n')), { maxLength: 30 }),
    fc.constantFrom('', '\ufeff'),
    fc.boolean(),
  )
  .map(([lines, mark, isOpen]) => {
    const text = lines.map(([line, ending]) => line + ending).join('')
    return mark + (isOpen ? text.replace(/\r?\n$/, '') : text)
  })
/** Fences that a list item leaves open reach further when an item next to them goes. */
export const indexWithoutItemFences = index.filter((text) => !/(?:- | {2})```/.test(text))
export const runs = { numRuns: Number(process.env['RUNS'] ?? 2_000) }
