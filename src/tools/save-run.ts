/**
 * What a call of `save_project_memory` does.
 *
 * Role: joins the door for arguments, the checks of the caller and the store,
 * and tells what became of the index. Holds no state.
 */
import type { ResolvedConfig } from '../config.ts'
import { scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { viewIndex } from '../format/index-view.ts'
import type { CommittedSave } from '../store/save-transaction.ts'
import { permissionToChange } from './refusal.ts'
import type { MemoryToolOptions } from './memory-tool.ts'
import { parseSaveArguments } from './save-arguments.ts'
import type { SaveToolValue } from './save-result.ts'

/**
 * Say how the saved entry stands in the index. The entry that was just written
 * is the newest, so no file has to be looked at for that.
 */
function describeSave(saved: CommittedSave, config: ResolvedConfig): SaveToolValue {
  const { indexLineLimit, indexCharacterLimit, overflow } = config
  const { fileName, filePath, bytes, replaced, indexText } = saved
  const indexEntries = scanIndexEntries(indexText, utf8BytesCodec).length
  const view = viewIndex(utf8BytesCodec.decode(indexText), {
    lineLimit: indexLineLimit,
    characterLimit: indexCharacterLimit,
    overflow,
    mtimeMsOf: (name) => (name === fileName ? Number.MAX_SAFE_INTEGER : 0),
  })
  const shownInIndex = view.shownFileNames.has(fileName)
  const value = { fileName, filePath, bytes, replaced, shownInIndex, indexEntries, indexLineLimit }
  if (!view.isTruncated) return { saved: true, ...value }
  const shown = overflow === 'recent' ? 'the most recently written entries' : 'its first lines'
  const own = shownInIndex ? '' : ' This entry is not among them.'
  const note = `The index no longer fits its limits (${indexLineLimit} lines, ${indexCharacterLimit} characters): sessions see ${shown}.${own} Merge or remove old memories.`
  return { saved: true, ...value, note }
}

/**
 * Save what the model asked for.
 * @param args - the model's arguments, unchecked.
 * @param exec - the calling agent and the signal that gives up.
 * @returns the result; `saved: false` with the reason for a sub-agent or a session without project.
 * @throws MemoryError with one line that names the argument or path and what to do.
 */
export async function runSave(
  args: unknown,
  exec: { agent?: unknown; signal: AbortSignal },
  { callerOf, config, keepIndexObserved, stores }: MemoryToolOptions,
): Promise<SaveToolValue> {
  const caller = callerOf(exec.agent)
  const request = parseSaveArguments(args, config.maxMemoryChars, {
    originSessionId: caller.sessionId,
    signal: exec.signal,
  })
  const { project, reason } = permissionToChange(caller, config.subagents === 'all', 'saved')
  if (project === undefined) return { saved: false, reason }
  const commit = async (): Promise<CommittedSave> => (await stores()).of(project).commit(request)
  const saved = keepIndexObserved
    ? await keepIndexObserved(exec.agent, project, commit)
    : await commit()
  return describeSave(saved, config)
}
