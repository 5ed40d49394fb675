/**
 * One save on its way through a transaction.
 *
 * Role: what is known of a save at each step, and the rendering of its file and
 * index line. Touches no disk.
 */
import { MemoryError } from '../errors.ts'
import { deriveDescription, renderMemoryFile } from '../format/memory-file.ts'
import type { IndexEntry } from '../types.ts'
import type { PublishedFile } from './rollback.ts'
import type { SaveRequest } from './save-request.ts'
import { MEMORY_READ_MAX_BYTES } from './stable-read.ts'

/** A durable save. */
export interface CommittedSave {
  fileName: string
  filePath: string
  /** Size of the memory file in bytes. */
  bytes: number
  /** Whether an older memory of the same topic was replaced. */
  replaced: boolean
  /** The index line's parts as published. */
  entry: IndexEntry
  /** Latin1 view of the published index; `''` unless the job asked for it. */
  indexText: string
}

/** One save waiting for its outcome; exactly one of the two callbacks is called, once. */
export interface SaveJob {
  request: SaveRequest
  /** Whether to tell the index too: as text a large one is costly. */
  needsIndexText: boolean
  resolve: (saved: CommittedSave) => void
  reject: (error: unknown) => void
}

/** The file that a save writes, and its line. */
export interface DraftFile {
  fileName: string
  filePath: string
  content: Buffer
  entry: IndexEntry
}

/** One save inside a transaction. */
export interface Draft {
  readonly job: SaveJob
  /** What has to be put back if the transaction fails; set together with `file`. */
  published: PublishedFile | undefined
  /** `undefined` until its file is chosen. */
  file: DraftFile | undefined
}

/**
 * Render a save's file and index line.
 * @throws MemoryError `INVALID_ARGUMENT` when the file would be too large to be read again.
 */
export function renderSave(
  request: SaveRequest,
  fileName: string,
): Pick<DraftFile, 'content' | 'entry'> {
  const description = request.description ?? deriveDescription(request.content)
  const text = renderMemoryFile({
    name: fileName.slice(0, -'.md'.length),
    title: request.key,
    description,
    type: request.type,
    body: request.content,
    ...(request.originSessionId === undefined ? {} : { originSessionId: request.originSessionId }),
  })
  const content = Buffer.from(text, 'utf8')
  if (content.length > MEMORY_READ_MAX_BYTES) {
    throw new MemoryError(
      'INVALID_ARGUMENT',
      `content: the file would have ${content.length} bytes, more than the ${MEMORY_READ_MAX_BYTES} that can be read again; shorten or split it`,
    )
  }
  return { content, entry: { title: request.key, fileName, hook: description } }
}

/** The file of a draft that has one by now. */
export function fileOf({ file }: Draft): DraftFile {
  if (file === undefined) throw new TypeError('a draft was used before its file was chosen')
  return file
}
