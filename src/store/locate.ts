/**
 * Finding the memory that a caller means.
 *
 * Role: by file name, or by key in any spelling of its topic, among the files
 * and the index lines. Says which names are close when there is none.
 */
import { MemoryError } from '../errors.ts'
import { scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import { topicOfKey } from '../format/slug.ts'
import type { StoreContext } from './context.ts'
import { fileNamesOf, isTopicOf, memoryFilePath, titleTopic } from './file-name.ts'
import { isSafeMemoryFileName } from './paths.ts'
import type { StableBytes } from './stable-read.ts'
import { readStableBytes } from './stable-read.ts'
import { listTrash } from './trash.ts'

/** How a caller names a memory: exactly one of the two. */
export interface MemoryReference {
  key?: string | undefined
  fileName?: string | undefined
}

/** A memory that was found: its file, its index line, or both. */
export interface LocatedMemory {
  fileName: string
  filePath: string
  title: string
  /** `undefined` when only an index line is left. */
  file: StableBytes | undefined
}

/** How many close names an error lists. */
const CLOSEST_COUNT = 5

async function describe(
  context: StoreContext,
  fileName: string,
  titles: ReadonlyMap<string, string>,
): Promise<LocatedMemory | undefined> {
  const filePath = memoryFilePath(context, fileName)
  const file = await readStableBytes(filePath, { fileSystem: context.fileSystem })
  const listed = titles.get(fileName)
  if (file === undefined && listed === undefined) return undefined
  const written =
    file === undefined ? undefined : readMemoryHeader(file.bytes.toString('utf8')).title
  return { fileName, filePath, title: written ?? listed ?? '', file }
}

/** Titles of the index by safe file name, the first line of a file counting. */
export function indexTitles(indexText: string): Map<string, string> {
  const titles = new Map<string, string>()
  for (const { fileName, title } of scanIndexEntries(indexText, utf8BytesCodec)) {
    if (isSafeMemoryFileName(fileName) && !titles.has(fileName)) titles.set(fileName, title)
  }
  return titles
}

async function locateByKey(
  context: StoreContext,
  key: string,
  indexText: string,
  titles: ReadonlyMap<string, string>,
): Promise<LocatedMemory | undefined> {
  const topic = titleTopic(key)
  const { preferred, legacy, longer } = fileNamesOf(key)
  for (const fileName of [preferred, ...(legacy === undefined ? [] : [legacy]), ...longer]) {
    const found = await describe(context, fileName, titles)
    if (found === undefined) continue
    const isTopic =
      found.file === undefined
        ? topicOfKey(found.title) === topic
        : (isTopicOf(fileName, found.file, { text: indexText }, topic) ?? fileName === preferred)
    if (isTopic) return found
  }
  for (const [fileName, title] of titles) {
    if (title === key || topicOfKey(title) === topic) return describe(context, fileName, titles)
  }
  return undefined
}

/** Pairs of neighbouring characters, for comparing names that were not spelt exactly. */
function bigrams(text: string): Set<string> {
  const characters = Array.from(topicOfKey(text))
  return new Set(characters.slice(0, -1).map((character, at) => character + characters[at + 1]))
}

/** @returns between 0 (nothing in common) and 1 (the same pairs), the Dice coefficient. */
function similarity(one: string, other: string): number {
  const [first, second] = [bigrams(one), bigrams(other)]
  const common = [...first].filter((pair) => second.has(pair)).length
  return first.size + second.size === 0 ? 0 : (2 * common) / (first.size + second.size)
}

/**
 * The names that are closest to what was asked for.
 * @param wanted - key or file name.
 * @param titles - titles by file name.
 * @returns at most five file names, closest first.
 */
export function closestNames(wanted: string, titles: ReadonlyMap<string, string>): string[] {
  const stem = wanted.replace(/\.md$/iu, '')
  return [...titles]
    .map(([fileName, title]) => ({
      fileName,
      score: Math.max(similarity(stem, title), similarity(stem, fileName.slice(0, -'.md'.length))),
    }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, CLOSEST_COUNT)
    .map(({ fileName }) => fileName)
}

async function allTitles(
  context: StoreContext,
  indexed: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const titles = new Map(indexed)
  for (const name of await context.fileSystem.readdir(context.paths.root).catch(() => [])) {
    if (isSafeMemoryFileName(name) && !titles.has(name)) titles.set(name, '')
  }
  return titles
}

/**
 * Find a memory.
 * @param reference - key or file name.
 * @param indexText - latin1 view of the index.
 * @throws MemoryError `NOT_FOUND` listing the closest file names, `UNSAFE_PATH` for a file name that
 *   is none, or why the file cannot be read. Nothing was changed.
 */
export async function locateMemory(
  context: StoreContext,
  reference: MemoryReference,
  indexText: string,
): Promise<LocatedMemory> {
  const titles = indexTitles(indexText)
  const { fileName, key } = reference
  const found =
    fileName === undefined
      ? await locateByKey(context, key ?? '', indexText, titles)
      : await describe(context, fileName, titles)
  if (found !== undefined) return found
  const closest = closestNames(fileName ?? key ?? '', await allTitles(context, titles))
  const hint =
    closest.length === 0
      ? 'there are no similar names'
      : `closest file names: ${closest.join(', ')}`
  const field = fileName === undefined ? 'key' : 'fileName'
  throw new MemoryError('NOT_FOUND', `${field}: no memory of this name; ${hint}`)
}

/**
 * Find a memory of which only copies in the trash are left.
 * @returns the one that was forgotten last; `undefined` when there is none.
 * @throws MemoryError when the trash cannot be read.
 */
export async function locateCopied(
  context: StoreContext,
  { fileName, key = '' }: MemoryReference,
): Promise<LocatedMemory | undefined> {
  const topic = titleTopic(key)
  const item = (await listTrash(context)).find(({ record }) =>
    fileName === undefined ? titleTopic(record.title) === topic : record.fileName === fileName,
  )
  if (item === undefined) return undefined
  const { record } = item
  const filePath = memoryFilePath(context, record.fileName)
  return { fileName: record.fileName, filePath, title: record.title, file: undefined }
}
