/**
 * What documents quote from the built code.
 */
import { viewIndex } from '../lib/format/index-view.js'
import {
  FORGET_TOOL_DESCRIPTION,
  FORGET_TOOL_NAME,
  FORGET_TOOL_PARAMETER_DESCRIPTIONS,
  SAVE_TOOL_DESCRIPTION,
  SAVE_TOOL_NAME,
  SAVE_TOOL_PARAMETER_DESCRIPTIONS,
} from '../lib/prompt/text.js'
import { renderIndexContext, renderMemoryGuidance } from '../lib/prompt/render.js'
import { resolveProjectMemoryPaths } from '../lib/store/paths.js'

/** English prose has about four characters to a token. */
const CHARACTERS_PER_TOKEN = 4

const { root } = resolveProjectMemoryPaths('/home/ada/tide-clock', { DSH_HOME: '/home/ada/.dsh' })
const index =
  '- [Tide table rule](tide-table-rule.md) — The tide table is generated; edit the generator.\n'

function fenced(text, info = 'text') {
  return ['````' + info, text, '````'].join('\n')
}

function toolText(name, description, parameters) {
  const lines = Object.entries(parameters).map(([key, text]) => `  ${key}: ${text}`)
  return [`${name}: ${description}`, ...lines].join('\n')
}

function texts() {
  const view = viewIndex(index, { lineLimit: 200, characterLimit: 25_000, overflow: 'recent' })
  return {
    guidance: renderMemoryGuidance(root, { forgetTool: true }),
    index: renderIndexContext(root, view),
    tools: [
      toolText(SAVE_TOOL_NAME, SAVE_TOOL_DESCRIPTION, SAVE_TOOL_PARAMETER_DESCRIPTIONS),
      toolText(FORGET_TOOL_NAME, FORGET_TOOL_DESCRIPTION, FORGET_TOOL_PARAMETER_DESCRIPTIONS),
    ].join('\n\n'),
  }
}

/**
 * @param {'en' | 'zh'} language
 * @returns {Record<string, string>} blocks by name.
 */
export function quotes(language) {
  const { guidance, index: framed, tools } = texts()
  const row = (name, { length }) =>
    `| ${name} | ${length} | ${Math.ceil(length / CHARACTERS_PER_TOKEN)} |`
  const names =
    language === 'zh'
      ? [
          '内容',
          '字符',
          '约合 token（4 字符一个）',
          '记忆指引',
          '索引（一条记忆）',
          '两个工具的说明',
        ]
      : [
          'text',
          'characters',
          'tokens, at 4 characters each',
          'guidance',
          'index of one memory',
          'descriptions of both tools',
        ]
  const sizes = [
    `| ${names[0]} | ${names[1]} | ${names[2]} |`,
    '| --- | --- | --- |',
    row(names[3], guidance),
    row(names[4], framed),
    row(names[5], tools),
  ].join('\n')
  return {
    guidance: fenced(guidance, 'markdown'),
    index: fenced(framed),
    tools: fenced(tools),
    sizes,
  }
}
