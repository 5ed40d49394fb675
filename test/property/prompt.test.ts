import { renderContextSections } from '@deepseek-ai/dsh-system-prompt'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  escapePromptText,
  PROMPT_BRACES_VALUE,
  PROMPT_BRACES_VARIABLE,
  renderMemoryContext,
  renderMemoryGuidance,
} from '../../src/prompt/index.ts'

const braces = fc
  .array(
    fc.constantFrom(
      '{',
      '{',
      '}',
      '}',
      '{{',
      '}}',
      'a',
      ' ',
      '$',
      '|',
      '\n',
      '变',
      PROMPT_BRACES_VARIABLE,
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(''))
const text = fc.oneof({ weight: 4, arbitrary: braces }, fc.string({ unit: 'grapheme' }))

function hostRender(raw: string): string {
  const contexts = [{ name: 'project-memory', text: raw }]
  const variables = { model: 'm', cwd: '/c', a: 'A', [PROMPT_BRACES_VARIABLE]: PROMPT_BRACES_VALUE }
  return renderContextSections({ sections: [], contexts, tools: [], variables })[0]?.text ?? ''
}

describe('text on its way to the host', () => {
  it('is rendered exactly, 50,000 times', () => {
    fc.assert(
      fc.property(text, (raw) => hostRender(escapePromptText(raw)) === raw),
      { numRuns: 50_000 },
    )
  })

  it('is rendered exactly inside guidance and index', () => {
    fc.assert(
      fc.property(text, text, (path, line) => {
        const guidance = renderMemoryGuidance(`/${path}`)
        const context = renderMemoryContext(`/${path}`, `- [T](t.md) — ${line}`)
        expect(hostRender(escapePromptText(guidance))).toBe(guidance)
        expect(hostRender(escapePromptText(context))).toBe(context)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('the frame around an index', () => {
  it('is one line and a fence that no memory closes', () => {
    const part = fc.constantFrom(
      '`',
      '``',
      '```',
      '~~~',
      '\n',
      'x',
      ' ',
      '- [A](a.md)',
      '<!--',
      '-->',
    )
    const index = fc.array(part, { maxLength: 20 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(index, (notes) => {
        const context = renderMemoryContext('/m', notes)
        if (context === '') return
        const [first, fence, ...rest] = context.split('\n')
        expect(first).toContain('`/m/MEMORY.md`')
        expect(fence).toMatch(/^`{3,}$/)
        expect(rest.at(-1)).toBe(fence)
        for (const line of rest.slice(0, -1)) expect(line).not.toContain(fence)
      }),
      { numRuns: 5_000 },
    )
  })
})
