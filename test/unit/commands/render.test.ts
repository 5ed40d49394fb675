import { describe, expect, test } from 'vitest'
import type { MemoryItem, Outcome, WhyOutcome } from '../../../src/commands/outcome.ts'
import { renderPlan } from '../../../src/commands/render-doctor.ts'
import type { RenderOptions } from '../../../src/commands/render.ts'
import { renderOutcome } from '../../../src/commands/render.ts'
import { textsOf } from '../../../src/commands/texts.ts'

const NOW = new Date('2031-05-04T12:00:00Z')
const EVIL = 'a\u001b[2J\u202eb\nc'
const SHOWN_EVIL = String.raw`a\u{1b}[2J\u{202e}b\u{a}c`

function options(language: 'en' | 'zh' = 'en'): RenderOptions {
  return { texts: textsOf(language), command: '/memory', now: NOW }
}

function render(outcome: Outcome, language: 'en' | 'zh' = 'en'): string {
  return renderOutcome(outcome, options(language))
}

const ITEM: MemoryItem = {
  fileName: 'release-day.md',
  filePath: '/m/release-day.md',
  title: 'Release day',
  type: 'project',
  description: 'Releases go out on Tuesdays.',
  sessionId: 'session-1',
  bytes: 120,
  modified: '2031-05-02T11:00:00.000Z',
  indexed: true,
  problem: null,
}

const LIST: Outcome = {
  kind: 'list',
  project: '/work/app',
  directory: '/m',
  exists: true,
  indexProblem: null,
  memoryAbove: null,
  memories: [ITEM],
}

describe('a list', () => {
  test('is one memory in three lines', () => {
    expect(render(LIST)).toBe(
      [
        '1 memory of /work/app',
        '',
        'Release day',
        '    release-day.md · project · 2 days ago',
        '    Releases go out on Tuesdays.',
      ].join('\n'),
    )
    expect(render(LIST, 'zh')).toContain('/work/app 有 1 条记忆')
    expect(render(LIST, 'zh')).toContain('release-day.md · project · 前天')
  })

  test('tells what is wrong with a memory or the index', () => {
    const memories: MemoryItem[] = [
      { ...ITEM, indexed: false },
      { ...ITEM, modified: null, problem: 'missing', description: null, type: null },
      { ...ITEM, problem: 'no permission' },
    ]
    const text = render({ ...LIST, memories, indexProblem: 'it is a FIFO' })
    expect(text).toContain('2 memories of')
    // Nothing can be told of lines that cannot be read.
    expect(text).not.toContain('not in the index')
    expect(text).toContain('its file is missing')
    expect(text).toContain('cannot be read: no permission')
    expect(text).toContain('The index cannot be read: it is a FIFO')
    expect(render({ ...LIST, memories })).toContain('not in the index (doctor fix adds it)')
  })

  test('without memories says where there are some', () => {
    const empty = { ...LIST, memories: [], exists: false }
    expect(render(empty)).toContain('No memories yet for /work/app.')
    const above = { ...empty, memoryAbove: '/work' }
    expect(render(above)).toContain('/work has a memory; it is given to sessions')
    const inShell = { texts: textsOf('en'), command: 'memories', now: new Date() }
    expect(renderOutcome(above, inShell)).toContain('--project "/work"')
  })

  test.each([
    ['2031-05-04T12:00:00.000Z', 'now'],
    ['2031-05-04T11:59:00.000Z', '1 minute ago'],
    ['2031-05-04T09:00:00.000Z', '3 hours ago'],
    ['2031-05-03T11:00:00.000Z', 'yesterday'],
    ['2031-04-20T12:00:00.000Z', '2 weeks ago'],
    ['2030-05-03T12:00:00.000Z', 'last year'],
    ['2031-06-01T12:00:00.000Z', 'now'],
  ])('%s was %s', (modified, age) => {
    expect(render({ ...LIST, memories: [{ ...ITEM, modified }] })).toContain(` · ${age}\n`)
  })
})

describe('a memory', () => {
  test('is shown whole, its body as it is', () => {
    const text = render({ kind: 'show', memory: ITEM, body: '# Head\n\n\tcode\r\n' })
    expect(text.startsWith('Release day\n  File: /m/release-day.md\n')).toBe(true)
    expect(text).toContain('Written: 2031-05-02, 2 days ago')
    expect(text.endsWith('\n\n# Head\n\n\tcode')).toBe(true)
  })

  test('that is very long ends with where the rest is', () => {
    const outcome: Outcome = { kind: 'show', memory: ITEM, body: 'x'.repeat(5_000) }
    const text = renderOutcome(outcome, { ...options(), maxBodyChars: 1_000 })
    expect(text.match(/x+/g)?.some((run) => run.length === 1_000)).toBe(true)
    expect(text).toContain('3.9 KB more; the whole text is in /m/release-day.md')
  })

  test('that cannot be read says why instead of a body', () => {
    const memory = { ...ITEM, problem: 'it is a link' }
    expect(render({ kind: 'show', memory, body: '' })).toContain('cannot be read: it is a link')
  })
})

const WHY: WhyOutcome = {
  kind: 'why',
  audience: 'session',
  project: '/work/app',
  indexFile: '/m/MEMORY.md',
  given: 'shown',
  reason: null,
  guidance: { characters: 1_600, tokens: 400 },
  index: { characters: 300, tokens: 80 },
  entries: { shown: 1, total: 2 },
  limits: { lines: 200, characters: 25_000, overflow: 'recent' },
  shown: ['- [A](a.md) — x'],
  omitted: [
    { line: '- [B](b.md)', reason: 'over-limit' },
    { line: '<!-- x -->', reason: 'comment' },
    { line: 'title: x', reason: 'frontmatter' },
    { line: 'long', reason: 'cut' },
  ],
}

describe('what a session was given', () => {
  test('names every line, every reason, and says that tokens are estimated', () => {
    const text = render(WHY)
    expect(text).toContain('is given 1 of 2 entries')
    expect(text).toContain('1,600 characters, about 400 tokens')
    expect(text).toContain('Tokens are estimated')
    for (const { line } of WHY.omitted) expect(text).toContain(`\n  ${line}`)
    expect(text).toContain('over the limit of 200 lines and 25,000 characters')
    expect(text).toContain('what was written last stays')
  })

  test.each([
    ['session', 'absent', 'there was no index'],
    ['session', 'none', 'sub-agent'],
    ['session', 'inherited', 'parent session'],
    ['session', 'unreadable', 'could not be read'],
    ['new-session', 'shown', 'A new session with default settings'],
    ['new-session', 'absent', 'there is no index'],
    ['new-session', 'unreadable', 'cannot be read'],
  ] as const)('for a %s that is given %s says so', (audience, given, part) => {
    expect(render({ ...WHY, audience, given })).toContain(part)
    expect(render({ ...WHY, audience, given }, 'zh')).toMatch(/\p{Script=Han}/u)
  })
})

const FINDING = {
  code: 'dangling-line',
  path: '/m/MEMORY.md',
  fileName: 'gone.md',
  message: 'the index has a line for gone.md, which does not exist',
  repair: 'remove the line for gone.md',
}
const UNREADABLE = {
  code: 'unreadable-file',
  path: '/m/x.md',
  fileName: null,
  message: 'x.md is a symbolic link',
  repair: null,
}

describe('what doctor found', () => {
  const found: Outcome = {
    kind: 'doctor',
    directory: '/m',
    findings: [FINDING, UNREADABLE],
    repaired: null,
    remaining: [FINDING, UNREADABLE],
  }

  test('says what fix would do and what a person has to do', () => {
    const text = render(found)
    expect(text).toContain('2 findings in /m')
    expect(text).toContain('fix would: remove the line for gone.md')
    expect(text).toContain('has to be mended by hand')
    expect(text).toContain('/memory doctor fix')
    expect(render({ ...found, findings: [], remaining: [] })).toBe('Nothing wrong in /m.')
  })

  test('is worded in Chinese by its code, what is unknown in English', () => {
    const text = render(found, 'zh')
    expect(text).toContain('索引中有 gone.md 的行，但文件不存在')
    expect(text).toContain('从索引中删去 gone.md 的行')
    expect(text).toContain('x.md is a symbolic link')
  })

  test('is planned before it is mended, and what is left is told', () => {
    expect(renderPlan([FINDING, UNREADABLE], options())).toBe(
      'Mending:\n- remove the line for gone.md',
    )
    expect(renderPlan([UNREADABLE], options())).toBe('Nothing here can be mended by itself.')
    const text = render({ ...found, repaired: [FINDING], remaining: [UNREADABLE] })
    expect(text).toContain('Mended 1 finding.')
    expect(text).toContain('1 finding left:')
    expect(text).not.toContain('gone.md')
  })
})

const EVIL_ITEM = {
  ...ITEM,
  title: EVIL,
  fileName: EVIL,
  description: EVIL,
  problem: EVIL,
  sessionId: EVIL,
}
const EVIL_OUTCOMES: Outcome[] = [
  { ...LIST, project: EVIL, indexProblem: EVIL, memories: [EVIL_ITEM] },
  { ...LIST, memoryAbove: EVIL, memories: [] },
  { kind: 'show', memory: { ...EVIL_ITEM, problem: null }, body: EVIL },
  {
    kind: 'search',
    words: EVIL,
    searched: 1,
    memories: [{ ...EVIL_ITEM, matched: [], excerpt: EVIL }],
  },
  { kind: 'forget', fileName: EVIL, title: EVIL, undoUntil: null },
  { kind: 'forget', fileName: EVIL, title: EVIL, undoUntil: '2031-05-04T12:00:00.000Z' },
  { kind: 'undo', fileName: EVIL, filePath: EVIL, title: EVIL },
  { kind: 'missing', verb: 'show', name: EVIL, candidates: [EVIL_ITEM] },
  { kind: 'missing', verb: 'undo', name: EVIL, candidates: [] },
  { kind: 'ambiguous', verb: 'forget', name: EVIL, candidates: [EVIL_ITEM] },
  {
    ...WHY,
    reason: EVIL,
    indexFile: EVIL,
    shown: [EVIL],
    omitted: WHY.omitted.map(({ reason }) => ({ line: EVIL, reason })),
  },
  {
    kind: 'doctor',
    directory: EVIL,
    findings: [
      { ...FINDING, fileName: EVIL },
      { ...UNREADABLE, message: EVIL, path: EVIL },
    ],
    repaired: null,
    remaining: [],
  },
  {
    kind: 'where',
    project: EVIL,
    home: EVIL,
    directory: EVIL,
    exists: true,
    indexFile: EVIL,
    trash: EVIL,
    memories: 1,
    inTrash: 0,
    otherDirectory: EVIL,
  },
  {
    kind: 'import',
    program: 'zcode',
    source: EVIL,
    isThisProject: false,
    otherProjects: [EVIL],
    applied: false,
    needsFolder: true,
    directory: EVIL,
    items: [
      { fileName: EVIL, title: EVIL, bytes: 1, modified: null, state: 'refused', reason: EVIL },
    ],
  },
  {
    kind: 'export',
    file: EVIL,
    format: 'json',
    memories: 1,
    skipped: [{ fileName: EVIL, problem: EVIL }],
  },
  { kind: 'failure', code: 'WRITE_FAILED', message: EVIL },
]

describe('every text', () => {
  test.each(EVIL_OUTCOMES.map((outcome) => [outcome.kind, outcome] as const))(
    'of %s names control and direction characters and lets no field break its line',
    (kind, outcome) => {
      for (const language of ['en', 'zh'] as const) {
        const text = render(outcome, language)
        expect(text).not.toMatch(/[^\P{Cc}\n\t]|\u202e/u)
        if (kind === 'show') expect(text).toContain('\\u{1b}[2J\\u{202e}b\nc')
        else if (kind !== 'doctor' || language === 'en') expect(text).toContain(SHOWN_EVIL)
        expect(text.endsWith('\n')).toBe(false)
      }
    },
  )
})
