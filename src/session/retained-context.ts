/**
 * What a session's log still shows of our context.
 *
 * Role: the host keeps prompt contexts as one snapshot message in the session.
 * A sub-agent that was forked inherits that message; giving it exactly the same
 * text again keeps its request prefix identical to its parent's.
 */
import type { Session } from '@deepseek-ai/dsh-session'

/** The plugin that the host names as source of its snapshot messages. */
const SNAPSHOT_SOURCE = '@deepseek-ai/dsh-system-prompt'

/** The part of the host's session that is looked at. */
export type SessionLog = Pick<Session, 'events' | 'surface'>

interface SnapshotSource {
  kind: string
  plugin?: string
  sections?: readonly { name: string; text: string }[]
}

/** @returns the newest snapshot that the model still sees, or `undefined`. */
function retainedSnapshot(session: SessionLog): SnapshotSource | undefined {
  const visible = new Set(session.surface.nodes)
  for (let index = session.events.length - 1; index >= 0; index -= 1) {
    const event = session.events[index]
    if (event?.type !== 'user/message' || !visible.has(event.seq)) continue
    const source = event.data.source as SnapshotSource
    if (source.kind === 'plugin' && source.plugin === SNAPSHOT_SOURCE) return source
  }
  return undefined
}

/** Whether the model still sees a snapshot; after compaction it does not. */
export function hasRetainedSnapshot(session: SessionLog): boolean {
  return retainedSnapshot(session) !== undefined
}

/**
 * @param name - the context's registered name.
 * @returns its text in the newest snapshot that the model still sees; `''` when there is none.
 */
export function retainedContextText(session: SessionLog, name: string): string {
  const section = retainedSnapshot(session)?.sections?.find((candidate) => candidate.name === name)
  return section?.text ?? ''
}
