import { renderContextSections, renderPrompt } from '@deepseek-ai/dsh-system-prompt'
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt'
import { describe, expect, it } from 'vitest'
import {
  escapePromptText,
  PROMPT_BRACES_VALUE,
  PROMPT_BRACES_VARIABLE,
  renderMemoryContext,
  renderMemoryGuidance,
} from '../../../src/prompt/index.ts'

/** What the real host makes of a section and a context, with its own variables registered. */
function hostRender(text: string): { section: string; context: string } {
  const assembly: PromptAssembly = {
    sections: [{ name: 'project-memory', text }],
    contexts: [{ name: 'project-memory', text }],
    tools: [],
    variables: {
      provider: 'deepseek',
      model: 'the-real-model',
      cwd: '/real/path',
      [PROMPT_BRACES_VARIABLE]: PROMPT_BRACES_VALUE,
    },
  }
  return {
    section: renderPrompt(assembly),
    context: renderContextSections(assembly)[0]?.text ?? '',
  }
}

describe('text through the real host renderer', () => {
  it.each([
    "docker info --format '{{.OSType}}'",
    '{{}}',
    '{{变量}}',
    '{{hl|}}',
    '${{ secrets.X }}',
    '{{ a }}',
    'header x-trace-id: {{session}}',
    'template uses {{model}} and {{cwd}}',
    `{{${PROMPT_BRACES_VARIABLE}}}`,
    '{{{triple}}}',
    '{{{{four}}}}',
    '{ {not} }',
    '}} {{',
    '{{',
    '{{{',
    '{{a\n}}',
  ])('is the exact text: %j', (text) => {
    const index = `- [T](t.md) — ${text}`
    const context = renderMemoryContext('/m', index)
    expect(hostRender(escapePromptText(context))).toStrictEqual({ section: context, context })
    expect(hostRender(escapePromptText(text)).context).toBe(text)
  })

  it('would fail the turn or change the text without the escape', () => {
    expect(() => hostRender('${{ secrets.X }}')).toThrow(/malformed prompt variable/)
    expect(hostRender('{{model}}').context).toBe('the-real-model')
  })

  it('shows a directory with template marks as it is', () => {
    const guidance = renderMemoryGuidance('/srv/{{cookiecutter.project_slug}}/{{x}}')
    expect(hostRender(escapePromptText(guidance)).section).toBe(guidance)
  })

  it('leaves text without double braces alone', () => {
    const guidance = renderMemoryGuidance('/m')
    expect(escapePromptText(guidance)).toBe(guidance)
  })
})
