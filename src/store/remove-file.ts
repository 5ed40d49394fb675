/**
 * Removing a memory file as `rm` does, but into the trash.
 *
 * Role: half of a forget, for a model that edits `MEMORY.md` by hand: the file
 * goes, its index line stays for the model to remove. The copy is in the trash
 * before the file is gone, so a crash in between leaves a memory that is whole,
 * or one that doctor knows as a forget to finish.
 */
import { basename } from 'node:path'
import { MemoryError } from '../errors.ts'
import { removeIndexEntry, utf8BytesCodec } from '../format/index-file.ts'
import { assertSettled } from './aside.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories, syncDirectory, writeError } from './directories.ts'
import { memoryFilePath } from './file-name.ts'
import { readIndexVersion } from './index-bytes.ts'
import { locateMemory } from './locate.ts'
import type { Attempt, LockedAttempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { removeVersion, sameFile } from './remove-version.ts'
import { dropNeedlessCopy, hasOurCopy } from './trash-copy.ts'
import { pruneTrash, writeTrash } from './trash.ts'
import { unconfirmedError } from './unconfirmed.ts'

/** A request to remove one file. */
export interface RemovalRequest {
  /** A memory file directly in the memory directory, not the index. */
  fileName: string
  sessionId?: string | undefined
  signal?: AbortSignal | undefined
}

/** A file that is gone and durably so. */
export interface RemovedFile {
  filePath: string
  /** Its copy. */
  trashPath: string
}

/** What the index says of a file; a removal does not fail because nobody can read that. */
async function indexText(context: StoreContext): Promise<string> {
  try {
    return (await readIndexVersion(context)).text
  } catch (error) {
    if (error instanceof MemoryError) return ''
    throw error
  }
}

async function attemptRemoval(
  context: StoreContext,
  { fileName, sessionId }: RemovalRequest,
  lock: Lock,
  unsettled: ReadonlyMap<string, unknown>,
): Promise<Attempt<RemovedFile>> {
  const { fileSystem, paths } = context
  assertSettled(fileName, unsettled)
  const text = await indexText(context)
  const { file, filePath, title } = await locateMemory(context, { fileName }, text)
  if (file === undefined) throw missing(filePath)
  const entry = removeIndexEntry(text, fileName, utf8BytesCodec).removed[0]
  const record = {
    fileName,
    title,
    indexLine: entry?.line ?? '',
    after: entry?.after ?? null,
    sessionId: sessionId ?? null,
  }
  const { path: trashPath } = await writeTrash(context, record, file, Date.now())
  let isRemoved = false
  try {
    const mayGo = (): Promise<boolean> => hasOurCopy(context, trashPath, lock)
    isRemoved = await removeVersion(filePath, sameFile(file), fileSystem, { mayGo })
  } catch (error) {
    throw writeError(filePath, error)
  } finally {
    if (!isRemoved) await dropNeedlessCopy(context, trashPath, { filePath, file }, lock)
  }
  if (!isRemoved) return RETRY
  try {
    await syncDirectory(paths.root, fileSystem)
  } catch (error) {
    throw unconfirmedError('removed', filePath, writeError(paths.root, error))
  }
  await pruneTrash(context, Date.now(), trashPath)
  return { isDone: true, value: { filePath, trashPath } }
}

function missing(filePath: string): MemoryError {
  return new MemoryError('NOT_FOUND', `there is no file ${basename(filePath)}`, { path: filePath })
}

/**
 * Move a memory file into the trash and leave the index as it is. The file is
 * gone for good when the promise resolves, its copy durable.
 * @throws MemoryError `NOT_FOUND`, `UNSAFE_PATH` for a name that is none, or why the disk or the lock
 *   refused: the file is then as before, unless the message says that it was removed or moved aside;
 *   its copy is then in the trash.
 */
export async function removeMemoryFile(
  context: StoreContext,
  request: RemovalRequest,
): Promise<RemovedFile> {
  const filePath = memoryFilePath(context, request.fileName)
  if (!(await checkDirectories(context.paths.root, context.fileSystem))) throw missing(filePath)
  const attempt: LockedAttempt<RemovedFile> = (lock, unsettled) =>
    attemptRemoval(context, request, lock, unsettled)
  return runLocked(context, attempt, { signal: request.signal })
}
