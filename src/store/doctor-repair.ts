/**
 * Carrying out what doctor proposed.
 *
 * Role: under the lock, decides anew what is wrong and mends only that, since
 * the memory may have changed since it was looked over. Index lines are mended
 * in one write.
 */
import { basename, dirname, join } from 'node:path'
import {
  findIndexEntries,
  removeIndexEntry,
  upsertIndexEntries,
  utf8BytesCodec,
} from '../format/index-file.ts'
import { stripLeadingFrontmatter } from '../format/index-strip.ts'
import { deriveDescription, readMemoryHeader } from '../format/memory-file.ts'
import type { IndexEntry } from '../types.ts'
import { asideAt, assertSettled } from './aside.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories, syncDirectory } from './directories.ts'
import type { Finding } from './doctor.ts'
import { unfinishedSave } from './doctor-files.ts'
import { examineMemory } from './doctor.ts'
import { FirstError } from './first-error.ts'
import { publishIndex, readIndexVersion } from './index-bytes.ts'
import type { Attempt } from './locked-change.ts'
import { RETRY, runLocked } from './locked-change.ts'
import type { Lock } from './lock.ts'
import { removeVersion, sameFile } from './remove-version.ts'
import { readStableBytes } from './stable-read.ts'
import { hasCopyInTrash } from './trash.ts'

async function entryOf(context: StoreContext, path: string): Promise<IndexEntry> {
  const fileName = basename(path)
  const file = await readStableBytes(path, { fileSystem: context.fileSystem })
  const text = file?.bytes.toString('utf8') ?? ''
  const { title, description } = readMemoryHeader(text)
  const stem = fileName.slice(0, -'.md'.length)
  return {
    title: title ?? stem,
    fileName,
    hook: description ?? deriveDescription(stripLeadingFrontmatter(text)),
  }
}

/** @returns the files whose index lines have this fault. */
function fileNamesOf(findings: readonly Finding[], code: Finding['code']): Set<string> {
  return new Set(
    findings.flatMap((finding) =>
      finding.code === code && finding.fileName !== undefined ? [finding.fileName] : [],
    ),
  )
}

async function mendIndexText(
  context: StoreContext,
  indexText: string,
  findings: readonly Finding[],
): Promise<string> {
  let text = indexText
  for (const fileName of fileNamesOf(findings, 'dangling-line')) {
    text = removeIndexEntry(text, fileName, utf8BytesCodec).text
  }
  for (const fileName of fileNamesOf(findings, 'duplicate-line')) {
    for (const entry of findIndexEntries(text, fileName, utf8BytesCodec).slice(1).toReversed()) {
      text = text.slice(0, entry.start) + text.slice(entry.blockEnd)
    }
  }
  const added: IndexEntry[] = []
  for (const { code, path } of findings) {
    if (code === 'unfinished-save') added.push(await entryOf(context, path))
  }
  return upsertIndexEntries(text, added, utf8BytesCodec).text
}

/** Remove a file, as long as it is the version whose copy is in the trash. */
async function finishForget(context: StoreContext, path: string, lock: Lock): Promise<void> {
  const { fileSystem } = context
  const file = await readStableBytes(path, { fileSystem })
  if (file === undefined) return
  const mayGo = async (): Promise<boolean> =>
    (await hasCopyInTrash(context, basename(path), file.bytes)) && (await lock.isHeld())
  await removeVersion(path, sameFile(file), fileSystem, { mayGo })
}

/** Mend one finding that is not about the index. */
async function mendFile(context: StoreContext, { code, path }: Finding, lock: Lock): Promise<void> {
  const { fileSystem } = context
  if (code === 'unfinished-forget') await finishForget(context, path, lock)
  else if (code === 'temporary-file' || (code === 'stale-lock' && path !== context.lockPath)) {
    await fileSystem.rm(path, { recursive: true, force: true })
  } else if (code === 'open-permissions') {
    const { mode } = await fileSystem.lstat(path)
    await fileSystem.chmod(path, mode & 0o7755)
  }
}

/**
 * One try. What stands aside has been settled by then, so that its lines are judged with it; one
 * finding that cannot be mended keeps none of the others.
 */
async function attemptRepair(
  context: StoreContext,
  lock: Lock,
  unsettled: ReadonlyMap<string, unknown>,
  wanted: ReadonlySet<string>,
): Promise<Attempt<void>> {
  const { fileSystem, paths } = context
  const findings = (await examineMemory(context)).filter((one) => wanted.has(findingKey(one)))
  const needsIndex = findings.some(({ code }) =>
    ['dangling-line', 'duplicate-line', 'unfinished-save'].includes(code),
  )
  if (needsIndex) {
    const index = await readIndexVersion(context)
    const text = await mendIndexText(context, index.text, findings)
    if (text !== index.text && !(await publishIndex(context, lock, index, text))) return RETRY
  }
  if (!(await lock.isHeld())) return RETRY
  const first = new FirstError()
  const asides = findings.flatMap(({ path }) => asideAt(path) ?? [])
  for (const { fileName, path } of asides) {
    await first.during(path, async () => assertSettled(fileName, unsettled))
  }
  for (const finding of findings) {
    if (asideAt(finding.path) !== undefined) continue
    await first.during(finding.path, () => mendFile(context, finding, lock))
  }
  await first.during(paths.root, () => syncDirectory(paths.root, fileSystem))
  if (first.error !== undefined) throw first.error
  return { isDone: true, value: undefined }
}

/** What makes two findings the same. */
function findingKey({ code, fileName, path }: Finding): string {
  return JSON.stringify([code, path, fileName ?? ''])
}

/**
 * Mend what was found. Durable when the promise resolves.
 * @param findings - from `examineMemory`; those without a repair are left.
 * @returns those that are no longer true; what a transaction tidies by itself is among them.
 * @throws MemoryError when the disk or the lock refuses; what was mended so far stays mended, no
 *   memory is lost.
 */
export async function repairMemory(
  context: StoreContext,
  findings: readonly Finding[],
): Promise<Finding[]> {
  if (!(await checkDirectories(context.paths.root, context.fileSystem))) return []
  const repairable = findings.filter(({ repair }) => repair !== undefined)
  if (repairable.length === 0) return []
  // What is put back gets its line, if it has none.
  const linesToAdd = repairable.flatMap(({ code, fileName = '', path }) =>
    code === 'moved-aside' ? [unfinishedSave(join(dirname(path), fileName))] : [],
  )
  const wanted = new Set([...repairable, ...linesToAdd].map(findingKey))
  await runLocked(context, (lock, unsettled) => attemptRepair(context, lock, unsettled, wanted))
  const left = new Set((await examineMemory(context)).map(findingKey))
  return repairable.filter((finding) => !left.has(findingKey(finding)))
}
