/**
 * The story that the demo tells: what the person says, and what the scripted model does then.
 *
 * With a real model only the person's lines are used, so they say plainly what is wanted.
 */
import { callTool } from '../test/support/host/index.mjs'

/** @typedef {import('../test/support/host/index.mjs').ModelStep} ModelStep */
/** @typedef {import('../test/support/host/index.mjs').RecordedRequest} RecordedRequest */

const KEY = 'Crate labels'
const OLD_FACT = 'Crate labels are PNG files 812 pixels wide; the printer leaves others blank.'
const NEW_FACT = 'Crate labels are PNG files 1218 pixels wide since the printer was replaced.'

/** Found in what the model sees as long as the memory is the old one, and the new one. */
export const OLD_MARK = '812'
export const NEW_MARK = '1218'

// A real model chooses the description by itself, and only that is sure to be in the index.
const TOLD = `with your memory tool, key "${KEY}", the sentence itself as description`
export const REMEMBER = `Remember (${TOLD}): ${OLD_FACT}`
export const ASK = 'How wide must a crate label be? Answer from memory, open no file.'
export const REPLACE = `That changed, save it again (${TOLD}): ${NEW_FACT}`
export const FORGET = `Forget the memory "${KEY}" with your memory tool.`
export const ASK_ELSEWHERE = 'What do you remember about crate labels? Open no file.'

/** @type {Record<string, ModelStep[]>} what the scripted model does, by what the person said. */
export const SCRIPTS = {
  [REMEMBER]: [
    callTool('save_project_memory', { key: KEY, content: OLD_FACT }),
    'Noted for later sessions.',
  ],
  [ASK]: [answerFromIndex, answerFromIndex, answerFromIndex],
  [REPLACE]: [
    callTool('save_project_memory', { key: KEY, content: NEW_FACT }),
    'The memory is up to date again.',
  ],
  [FORGET]: [callTool('forget_project_memory', { key: KEY }), 'It is forgotten.'],
  [ASK_ELSEWHERE]: [answerFromIndex],
}

/**
 * The index as it stood in a request.
 * @param {RecordedRequest | undefined} request
 * @returns {string[]} the line that names the file, and the lines in the fence below it; empty without an index.
 */
export function indexLines(request) {
  const lines = (request?.snapshots.at(-1) ?? '').split('\n')
  const start = lines.findIndex((line) => line.includes('MEMORY.md'))
  if (start === -1) return []
  const fence = lines[start + 1] ?? ''
  const end = lines.indexOf(fence, start + 2)
  return lines.slice(start, end === -1 ? start + 1 : end).filter((line) => line !== fence)
}

/** @param {RecordedRequest} request */
function answerFromIndex(request) {
  const known = indexLines(request).filter((line) => line.startsWith('- ['))
  return known.length === 0 ? 'I remember nothing about that.' : `I remember: ${known.join(' ')}`
}
