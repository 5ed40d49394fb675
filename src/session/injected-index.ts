/**
 * The index as one session is given it.
 *
 * Role: reads the index once and renders the context from it, and keeps what a
 * person may ask about later: which text it was and what was left out. Knows
 * nothing of the host's sessions. Every outcome is a value.
 */
import { join } from 'node:path'
import type { ResolvedConfig } from '../config.ts'
import type { IndexView } from '../format/index-view.ts'
import { viewIndex } from '../format/index-view.ts'
import { renderIndexContext, renderUnreadableIndex } from '../prompt/render.ts'
import { modificationTimeSync, readIndexSync } from '../store/stable-read-sync.ts'
import type { ProjectMemoryPaths } from '../types.ts'

/** The settings that decide what is shown. */
export type IndexSettings = Pick<
  ResolvedConfig,
  'indexLineLimit' | 'indexCharacterLimit' | 'overflow'
>

/**
 * What a session is given of an index; `text` is what the model sees.
 *
 * - `none`: the session gets no index (no project, or a sub-agent of its own).
 * - `inherited`: a forked sub-agent's copy of what its parent was given.
 * - `absent`: there is no index yet.
 * - `unreadable`: one line that says why.
 * - `shown`: the index of this version, whole or in part.
 */
export type InjectedIndex =
  | { kind: 'none'; text: '' }
  | { kind: 'inherited'; text: string }
  | { kind: 'absent'; text: '' }
  | { kind: 'unreadable'; text: string; reason: string }
  | { kind: 'shown'; text: string; indexText: string; view: IndexView }

/**
 * Read the index now and render it, in one bounded synchronous read.
 * @returns what a session would be given, and the identity of the version that was read.
 */
export function readInjectedIndex(
  project: ProjectMemoryPaths,
  settings: IndexSettings,
): { index: InjectedIndex; identity: string | undefined } {
  const reading = readIndexSync(project)
  const { identity } = reading
  if (reading.kind === 'absent') return { index: { kind: 'absent', text: '' }, identity }
  if (reading.kind === 'unreadable') {
    const { reason } = reading
    const text = renderUnreadableIndex(project.root, reason)
    return { index: { kind: 'unreadable', text, reason }, identity }
  }
  const view = viewIndex(reading.text, {
    lineLimit: settings.indexLineLimit,
    characterLimit: settings.indexCharacterLimit,
    overflow: settings.overflow,
    mtimeMsOf: (fileName) => modificationTimeSync(join(project.root, fileName)),
  })
  const text = renderIndexContext(project.root, view)
  return { index: { kind: 'shown', text, indexText: reading.text, view }, identity }
}
