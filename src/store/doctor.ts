/**
 * Looking over a memory and mending what can be mended without losing anything.
 *
 * Role: names what a crash, another program or a hand edit left behind, and says
 * what the repair would do before it does it. Never deletes a memory: a file is
 * removed only when an identical copy is in the trash. Looking takes no lock.
 */
import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import type { Aside, AsideNeed } from './aside.ts'
import { asideAt, needOf } from './aside.ts'
import type { StoreContext } from './context.ts'
import { checkDirectories } from './directories.ts'
import type { IndexVersion } from './index-bytes.ts'
import { readIndexVersion } from './index-bytes.ts'
import { isSafeMemoryFileName } from './paths.ts'
import { MEMORY_READ_MAX_BYTES, readStableBytes } from './stable-read.ts'
import { isTemporaryName } from './temporary-name.ts'
import { hasCopyInTrash, trashDirectory } from './trash.ts'

/**
 * Closed set of findings.
 *
 * - `unreadable-index`, `unreadable-file`: cannot be read, with the reason; no repair.
 * - `unfinished-save`: a memory file without index line; repaired by adding the line.
 * - `unfinished-forget`: a memory file without line whose identical copy is in the trash; repaired by
 *   removing the file.
 * - `dangling-line`: an index line whose file is missing; repaired by removing the line.
 * - `duplicate-line`: a further line of the same file; repaired by removing it.
 * - `stale-lock`: a lock that nobody renews, or a moved one; repaired by removing it.
 * - `moved-aside`: a version of a memory file that a process was removing when it ended, and that is
 *   nowhere else; repaired by putting it back, with a line when it has none, or into the trash when
 *   another file has its name.
 * - `temporary-file`: left over from an interrupted change, also a file moved aside that is not needed;
 *   repaired by removing it.
 * - `open-permissions`: others may write; repaired by taking that right away.
 * - `two-directories`: the project has a second memory under another spelling of its path; no repair.
 */
export type FindingCode =
  | 'unreadable-index'
  | 'unreadable-file'
  | 'unfinished-save'
  | 'unfinished-forget'
  | 'dangling-line'
  | 'duplicate-line'
  | 'stale-lock'
  | 'moved-aside'
  | 'temporary-file'
  | 'open-permissions'
  | 'two-directories'

/** One thing that is not as it should be. */
export interface Finding {
  code: FindingCode
  /** Absolute path it is about. */
  path: string
  /** The memory file it is about, where `path` is not its own. */
  fileName?: string
  /** One line: what is wrong. */
  message: string
  /** One line: what the repair does; `undefined` when a person has to act. */
  repair: string | undefined
}

/** Bits that let the group or others write. */
const OTHERS_WRITE = 0o022

/** What was found, before it is put into words. */
interface Survey {
  context: StoreContext
  index: IndexVersion | undefined
  indexProblem: string | undefined
  /** Files by name, with the reason for those that cannot be looked at. */
  files: Map<string, Stats | string>
  temporary: string[]
  /** Files that stand aside and are needed. */
  aside: { aside: Aside; need: AsideNeed }[]
  /** Those of which that cannot be told, with the reason. */
  unclearAside: { aside: Aside; reason: string }[]
}

function reasonOf(error: unknown): string {
  if (error instanceof MemoryError) return error.message
  return `cannot be looked at (${errnoOf(error) ?? 'unexpected error'})`
}

async function survey(context: StoreContext): Promise<Survey> {
  const { fileSystem, paths } = context
  const found: Survey = {
    context,
    index: undefined,
    indexProblem: undefined,
    files: new Map(),
    temporary: [],
    aside: [],
    unclearAside: [],
  }
  try {
    found.index = await readIndexVersion(context)
  } catch (error) {
    found.indexProblem = reasonOf(error)
  }
  const trash = trashDirectory(context)
  const trashNames = await fileSystem.readdir(trash).catch(() => [])
  found.temporary.push(...trashNames.filter(isTemporaryName).map((name) => join(trash, name)))
  for (const name of (await fileSystem.readdir(paths.root)).sort()) {
    if (isTemporaryName(name)) found.temporary.push(join(paths.root, name))
    const aside = asideAt(join(paths.root, name))
    if (aside !== undefined) await surveyAside(found, aside)
    if (!isSafeMemoryFileName(name)) continue
    try {
      found.files.set(name, await fileSystem.lstat(join(paths.root, name)))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') found.files.set(name, reasonOf(error))
    }
  }
  return found
}

async function surveyAside(found: Survey, aside: Aside): Promise<void> {
  try {
    const need = await needOf(found.context, aside)
    if (need === 'nothing') found.temporary.push(aside.path)
    else found.aside.push({ aside, need })
  } catch (error) {
    found.unclearAside.push({ aside, reason: reasonOf(error) })
  }
}

/** A file without line: a save to finish, a forget to finish, or one of which that cannot be told. */
async function unlistedFinding(context: StoreContext, fileName: string): Promise<Finding> {
  const path = join(context.paths.root, fileName)
  try {
    const file = await readStableBytes(path, { fileSystem: context.fileSystem })
    const isForget = file !== undefined && (await hasCopyInTrash(context, fileName, file.bytes))
    if (!isForget) return unfinishedSave(path)
  } catch (error) {
    return {
      code: 'unreadable-file',
      path,
      message: `${fileName} has no line in the index, and it cannot be told why: ${reasonOf(error)}`,
      repair: undefined,
    }
  }
  return {
    code: 'unfinished-forget',
    path,
    message: `${fileName} was being forgotten: its copy is in the trash, its line is gone`,
    repair: `remove ${fileName}; the copy in the trash stays`,
  }
}

function unreadableFile(path: string, stats: Stats | string): Finding | undefined {
  let reason: string | undefined
  if (typeof stats === 'string') reason = stats
  else if (stats.isSymbolicLink()) reason = 'is a symbolic link, which is not followed'
  else if (!stats.isFile()) reason = 'is not a regular file'
  else if (stats.size > MEMORY_READ_MAX_BYTES) {
    reason = `has ${stats.size} bytes, more than the ${MEMORY_READ_MAX_BYTES} that are read`
  }
  if (reason === undefined) return undefined
  return {
    code: 'unreadable-file',
    path,
    message: `${basename(path)} ${reason}`,
    repair: undefined,
  }
}

/** @param path - of the memory file. */
export function unfinishedSave(path: string): Finding {
  const fileName = basename(path)
  return {
    code: 'unfinished-save',
    path,
    message: `${fileName} has no line in the index, so no session is told of it`,
    repair: `add a line for ${fileName} to the index`,
  }
}

async function fileFindings(found: Survey): Promise<Finding[]> {
  const findings: Finding[] = []
  const { index, context } = found
  const listed = new Set(
    index === undefined
      ? []
      : scanIndexEntries(index.text, utf8BytesCodec).map((entry) => entry.fileName),
  )
  for (const [fileName, stats] of found.files) {
    const path = join(context.paths.root, fileName)
    const unreadable = unreadableFile(path, stats)
    if (unreadable !== undefined) {
      findings.push(unreadable)
      continue
    }
    if (index === undefined || listed.has(fileName)) continue
    findings.push(await unlistedFinding(context, fileName))
  }
  return findings
}

function asideFindings({ aside, unclearAside }: Survey): Finding[] {
  const needed = aside.map(
    ({ aside: { fileName, path }, need }): Finding => ({
      code: 'moved-aside',
      path,
      fileName,
      message: `a version of ${fileName} stands aside as ${basename(path)}: its removal was interrupted`,
      repair:
        need === 'return'
          ? `put ${fileName} back, with a line in the index`
          : `move it to the trash, since there is another ${fileName} by now`,
    }),
  )
  const unclear = unclearAside.map(
    ({ aside: { path }, reason }): Finding => ({
      code: 'unreadable-file',
      path,
      message: `${basename(path)} cannot be judged: ${reason}`,
      repair: undefined,
    }),
  )
  return [...needed, ...unclear]
}

/** @returns the names of the memory files that are there, also aside. */
function presentNames({ aside, files, unclearAside }: Survey): Set<string> {
  const asides = [...aside, ...unclearAside].map((one) => one.aside.fileName)
  return new Set([...files.keys(), ...asides])
}

function indexFindings(found: Survey): Finding[] {
  const { context, index, indexProblem } = found
  const path = context.paths.indexFilePath
  if (indexProblem !== undefined) {
    return [{ code: 'unreadable-index', path, message: indexProblem, repair: undefined }]
  }
  const findings: Finding[] = []
  const present = presentNames(found)
  const seen = new Set<string>()
  for (const { fileName } of scanIndexEntries(index?.text ?? '', utf8BytesCodec)) {
    if (!isSafeMemoryFileName(fileName)) continue
    if (seen.has(fileName)) {
      findings.push({
        code: 'duplicate-line',
        path,
        fileName,
        message: `the index has more than one line for ${fileName}`,
        repair: `keep the first line for ${fileName} and remove the others`,
      })
    } else if (!present.has(fileName)) {
      findings.push({
        code: 'dangling-line',
        path,
        fileName,
        message: `the index has a line for ${fileName}, which does not exist`,
        repair: `remove the line for ${fileName}`,
      })
    }
    seen.add(fileName)
  }
  return findings
}

/** Locks beside the memory directory: the present one when stale, and moved orphans. */
async function lockFindings({ fileSystem, lockPath, lockTimes }: StoreContext): Promise<Finding[]> {
  const findings: Finding[] = []
  const prefix = basename(lockPath)
  for (const name of await fileSystem.readdir(dirname(lockPath))) {
    if (name !== prefix && !name.startsWith(`${prefix}.`)) continue
    const path = join(dirname(lockPath), name)
    const stats = await fileSystem.lstat(path).catch(() => undefined)
    if (stats === undefined || Math.abs(Date.now() - stats.mtimeMs) <= lockTimes.staleMs) continue
    findings.push({
      code: 'stale-lock',
      path,
      message: `${name} was left by a process that ended while saving`,
      repair: `remove ${name}`,
    })
  }
  return findings
}

async function permissionFindings({ context, files }: Survey): Promise<Finding[]> {
  if (process.platform === 'win32') return []
  const { fileSystem, paths } = context
  const checked = [
    paths.root,
    paths.indexFilePath,
    trashDirectory(context),
    ...[...files.keys()].map((name) => join(paths.root, name)),
  ]
  const findings: Finding[] = []
  for (const path of checked) {
    const stats = await fileSystem.lstat(path).catch(() => undefined)
    if (stats === undefined || stats.isSymbolicLink() || (stats.mode & OTHERS_WRITE) === 0) continue
    findings.push({
      code: 'open-permissions',
      path,
      message: `${path} can be written by others (mode ${(stats.mode & 0o777).toString(8)})`,
      repair: `set its mode to ${(stats.mode & 0o777 & ~OTHERS_WRITE).toString(8)}`,
    })
  }
  return findings
}

/**
 * Look over a memory.
 * @param other - the memory directory of another spelling of the project path, when there is one.
 * @returns findings in the order in which they are best mended; `[]` for a memory without a fault or
 *   none at all. Nothing is changed.
 * @throws MemoryError when the directories themselves cannot be looked at or are links.
 */
export async function examineMemory(context: StoreContext, other?: string): Promise<Finding[]> {
  const { fileSystem, lockPath, paths } = context
  if (!(await checkDirectories(paths.root, fileSystem))) return []
  const found = await survey(context)
  const findings = [
    ...(await lockFindings({ ...context, lockPath })),
    ...found.temporary.map(
      (path): Finding => ({
        code: 'temporary-file',
        path,
        message: `${basename(path)} is left over from a change that was interrupted, and not needed`,
        repair: `remove ${basename(path)}`,
      }),
    ),
    ...asideFindings(found),
    ...indexFindings(found),
    ...(await fileFindings(found)),
    ...(await permissionFindings(found)),
  ]
  if (other !== undefined && other !== paths.root) {
    findings.push({
      code: 'two-directories',
      path: other,
      message: `another spelling of the project path has a memory of its own in ${other}, which is not used`,
      repair: undefined,
    })
  }
  return findings
}
