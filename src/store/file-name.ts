/**
 * Which file a memory goes to, decided under the lock.
 *
 * Role: different topics never share a file. A name whose file belongs to
 * another topic is passed over for a longer one; a file that already holds the
 * topic, also under another spelling of its key, is used again.
 */
import { MemoryError } from '../errors.ts'
import type { IndexEntryLine } from '../format/index-file.ts'
import { findIndexEntries, scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import type { MemoryFileNames } from '../format/slug.ts'
import { memoryFileNames, topicOfKey } from '../format/slug.ts'
import { toSingleLine } from '../format/text.ts'
import type { StoreContext } from './context.ts'
import {
  assertContainedMemoryPath,
  assertSafeMemoryFileName,
  isSafeMemoryFileName,
} from './paths.ts'
import type { StableBytes } from './stable-read.ts'
import { readStableBytes } from './stable-read.ts'

/** A chosen file. */
export interface ChosenFile {
  fileName: string
  filePath: string
  /** Its present content; `undefined` when it will be a new file. */
  existing: StableBytes | undefined
}

/** An index; its text is asked for only when needed, since it may be large. */
export interface IndexText {
  /** Latin1 view of the bytes. */
  readonly text: string
}

/** Ends a title that was shortened to fit the index line. */
const ELLIPSIS = '…'

/** The topic that a key stands for, read as it will be written into the file's title. */
export function titleTopic(key: string): string {
  return topicOfKey(toSingleLine(key))
}

/** The names that a key may have; keys that differ only by invisible characters share them. */
export function fileNamesOf(key: string): MemoryFileNames {
  return memoryFileNames(toSingleLine(key))
}

function isTitleOf(entry: IndexEntryLine, topic: string): boolean {
  const title = topicOfKey(entry.title)
  return title.endsWith(ELLIPSIS) ? topic.startsWith(title.slice(0, -1)) : title === topic
}

/** @returns whether a file is about the topic; `undefined` when neither it nor the index says. */
export function isTopicOf(
  fileName: string,
  existing: StableBytes,
  index: IndexText,
  topic: string,
): boolean | undefined {
  const { title } = readMemoryHeader(existing.bytes.toString('utf8'))
  if (title !== undefined) return topicOfKey(title) === topic
  const titled = findIndexEntries(index.text, fileName, utf8BytesCodec).filter(
    (entry) => entry.title !== '',
  )
  return titled.length === 0 ? undefined : titled.every((entry) => isTitleOf(entry, topic))
}

/** The file of an index entry that carries the topic under another spelling of the key. */
function otherSpelling(topic: string, index: IndexText): string | undefined {
  if (!topic.includes('-') || /^[a-z0-9._-]*$/u.test(topic)) return undefined
  return scanIndexEntries(index.text, utf8BytesCodec).find(
    (entry) =>
      entry.title !== '' &&
      isSafeMemoryFileName(entry.fileName) &&
      topicOfKey(entry.title) === topic,
  )?.fileName
}

/** What the saves of one transaction have chosen so far. */
export interface TakenFiles {
  topics: Set<string>
  fileNames: Set<string>
}

/**
 * Choose the file for a key.
 * @param key - the caller's name of the memory.
 * @param index - the index read under the same lock.
 * @param taken - what other saves of the same transaction have chosen; the choice is added.
 * @returns the file, or `'taken'` when another save of this transaction writes the same topic.
 * @throws MemoryError when an existing file of that name cannot be read; nothing was touched.
 */
export async function chooseFile(
  context: StoreContext,
  key: string,
  index: IndexText,
  taken: TakenFiles,
): Promise<ChosenFile | 'taken'> {
  const topic = titleTopic(key)
  if (taken.topics.has(topic)) return 'taken'
  const { preferred, legacy, longer } = fileNamesOf(key)
  const reusable = [legacy, otherSpelling(topic, index)].filter((name) => name !== undefined)
  for (const fileName of [...reusable, preferred, ...longer]) {
    if (taken.fileNames.has(fileName)) continue
    const filePath = memoryFilePath(context, fileName)
    const existing = await readStableBytes(filePath, { fileSystem: context.fileSystem })
    const isReuse = reusable.includes(fileName)
    const fits =
      existing === undefined ? !isReuse : (isTopicOf(fileName, existing, index, topic) ?? !isReuse)
    if (!fits) continue
    taken.topics.add(topic)
    taken.fileNames.add(fileName)
    return { fileName, filePath, existing }
  }
  throw new MemoryError(
    'INVALID_ARGUMENT',
    'key: no free file name for this key; choose another key',
  )
}

/**
 * The path of a memory file.
 * @throws MemoryError `UNSAFE_PATH` when the name is not a plain `.md` name.
 */
export function memoryFilePath({ paths }: StoreContext, fileName: string): string {
  return assertContainedMemoryPath(
    paths.root,
    `${paths.root}/${assertSafeMemoryFileName(fileName)}`,
  )
}
