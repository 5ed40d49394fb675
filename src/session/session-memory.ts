/**
 * What each live session is given of its project's memory.
 *
 * Role: decides once per session whose memory it is, reads the index once and
 * keeps the rendered texts, so that a prompt provider called at every model
 * step does no I/O and the text stays byte-identical. Reading again is the
 * exception: after compaction (the old snapshot is gone anyway) or, if so
 * configured, after a change. Never throws: a session goes on without memory.
 */
import type { Session } from '@deepseek-ai/dsh-session'
import { isAbsolute } from 'node:path'
import type { ResolvedConfig } from '../config.ts'
import { escapePromptText } from '../prompt/escape.ts'
import { renderMemoryGuidance } from '../prompt/render.ts'
import type { Environment } from '../store/paths.ts'
import { resolveProjectMemoryPaths } from '../store/paths.ts'
import { indexIdentitySync } from '../store/stable-read-sync.ts'
import type { ProjectMemoryPaths } from '../types.ts'
import type { InjectedIndex } from './injected-index.ts'
import { readInjectedIndex } from './injected-index.ts'
import { INDEX_CONTEXT_NAME } from './names.ts'
import { hasRetainedSnapshot, retainedContextText } from './retained-context.ts'
import type { SessionAgent } from './session-kind.ts'
import { isSubAgent } from './session-kind.ts'

/** What comes in by the door. */
export interface SessionMemoryOptions {
  config: ResolvedConfig
  env: Environment
  /** Told once per reading when the index of a project cannot be read. */
  warn: (message: string) => void
}

interface SessionState {
  readonly project: ProjectMemoryPaths | undefined
  /** Guidance as the model sees it; `''` without a project. */
  readonly guidance: string
  /** Guidance as given to the host. */
  readonly guidanceText: string
  /** Index as the session is given it; `undefined` until read. */
  index: InjectedIndex | undefined
  /** Index context as given to the host. */
  indexText: string
  /** Identity of the index that was read. */
  identity: string | undefined
}

/** What a session is given, as the model sees it. */
export interface InjectedMemory {
  project: ProjectMemoryPaths | undefined
  guidance: string
  index: InjectedIndex
}

/** The memory of live sessions; forgets a session when the host does. */
export class SessionMemory {
  readonly #options: SessionMemoryOptions
  readonly #states = new WeakMap<Session, SessionState>()

  constructor(options: SessionMemoryOptions) {
    this.#options = options
  }

  /** @returns the project whose memory the session uses; `undefined` when it has no working directory. */
  project(agent: SessionAgent): ProjectMemoryPaths | undefined {
    return this.#stateOf(agent).project
  }

  /** @returns the guidance section, the same bytes in every session of a project. */
  guidanceText(agent: SessionAgent): string {
    return this.#stateOf(agent).guidanceText
  }

  /** @returns the index context: frozen, `''` when the session gets none. */
  indexText(agent: SessionAgent): string {
    const state = this.#stateOf(agent)
    if (state.index === undefined || this.#isOutdated(agent, state)) {
      state.index = this.#readIndex(agent, state)
      state.indexText = escapePromptText(state.index.text)
    }
    return state.indexText
  }

  /** @returns what the session is given, for people who ask; the same that the model sees. */
  injected(agent: SessionAgent): InjectedMemory {
    this.indexText(agent)
    const { guidance, index, project } = this.#stateOf(agent)
    return { project, guidance, index: index ?? { kind: 'none', text: '' } }
  }

  /** Tell that a session's history was replaced: an index that the model no longer sees is read again. */
  onHistoryReplaced(session: Session): void {
    const state = this.#states.get(session)
    if (state !== undefined && !hasRetainedSnapshot(session)) state.index = undefined
  }

  #stateOf(agent: SessionAgent): SessionState {
    const existing = this.#states.get(agent.session)
    if (existing !== undefined) return existing
    const project = this.#resolveProject(agent)
    const { forgetTool, subagents } = this.#options.config
    const guidance =
      project === undefined ? '' : renderMemoryGuidance(project.root, { forgetTool, subagents })
    const state: SessionState = {
      project,
      guidance,
      guidanceText: escapePromptText(guidance),
      index: undefined,
      indexText: '',
      identity: undefined,
    }
    this.#states.set(agent.session, state)
    return state
  }

  #resolveProject({ session }: SessionAgent): ProjectMemoryPaths | undefined {
    const { cwd } = session.header
    if (cwd === undefined || !isAbsolute(cwd) || cwd.includes('\0')) return undefined
    return resolveProjectMemoryPaths(cwd, this.#options.env, this.#options.config.projectRoot)
  }

  #isOutdated(agent: SessionAgent, state: SessionState): boolean {
    if (this.#options.config.indexRefresh === 'session' || state.project === undefined) return false
    if (!this.#readsOwnIndex(agent)) return false
    return indexIdentitySync(state.project) !== state.identity
  }

  #readsOwnIndex(agent: SessionAgent): boolean {
    return this.#options.config.subagents === 'all' || !isSubAgent(agent)
  }

  #readIndex(agent: SessionAgent, state: SessionState): InjectedIndex {
    const { project } = state
    if (project === undefined) return { kind: 'none', text: '' }
    if (!this.#readsOwnIndex(agent)) {
      const text = retainedContextText(agent.session, INDEX_CONTEXT_NAME)
      return text === '' ? { kind: 'none', text } : { kind: 'inherited', text }
    }
    const { index, identity } = readInjectedIndex(project, this.#options.config)
    state.identity = identity
    if (index.kind === 'unreadable') {
      this.#options.warn(`project memory is not shown: ${index.reason}`)
    }
    return index
  }
}
