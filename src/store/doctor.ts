/**
 * Looking over a memory and mending what can be mended without losing anything.
 *
 * Role: names what a crash, another program or a hand edit left behind, and says
 * what the repair would do before it does it. Never deletes a memory: bytes go
 * only when the same are in the trash or under the memory's name. Looking takes
 * no lock.
 */
import type { Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../errors.ts'
import { scanIndexEntries, utf8BytesCodec } from '../format/index-file.ts'
import type { Aside } from './aside.ts'
import { asideAt, needOf } from './aside.ts'
import type { StoreContext } from './context.ts'
import { mapBounded } from './context.ts'
import { checkDirectories } from './directories.ts'
import type { AsideSight } from './doctor-files.ts'
import { asideFindings, fileFinding, reasonOf } from './doctor-files.ts'
import type { IndexVersion } from './index-bytes.ts'
import { readIndexVersion } from './index-bytes.ts'
import { isSafeMemoryFileName } from './paths.ts'
import { readError } from './stable-read.ts'
import { isTemporaryName } from './temporary-name.ts'
import { trashDirectory } from './trash.ts'

/**
 * Closed set of findings.
 *
 * - `unreadable-index`, `unreadable-file`: cannot be read as text, with the reason; no repair.
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
  asides: AsideSight[]
}

async function survey(context: StoreContext): Promise<Survey> {
  const { fileSystem, paths } = context
  const found: Survey = {
    context,
    index: undefined,
    indexProblem: undefined,
    files: new Map(),
    temporary: [],
    asides: [],
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
  let need: AsideSight['need']
  try {
    need = await needOf(found.context, aside)
  } catch (error) {
    need = { unclear: reasonOf(error) }
  }
  found.asides.push({ aside, need })
  if (need === 'nothing') found.temporary.push(aside.path)
}

async function fileFindings({ context, files, index }: Survey): Promise<Finding[]> {
  const entries = index === undefined ? undefined : scanIndexEntries(index.text, utf8BytesCodec)
  const listed = new Set(entries?.map(({ fileName }) => fileName))
  const findings = await mapBounded([...files], ([fileName, stats]) =>
    fileFinding(context, fileName, stats, entries && listed.has(fileName)),
  )
  return findings.filter((finding) => finding !== undefined)
}

/** @returns the names of the memory files that are there, also aside. */
function presentNames({ asides, files }: Survey): Set<string> {
  const needed = asides.filter(({ need }) => need !== 'nothing')
  return new Set([...files.keys(), ...needed.map(({ aside }) => aside.fileName)])
}

function indexFindings(found: Survey): Finding[] {
  const { context, index, indexProblem } = found
  const path = context.paths.indexFilePath
  if (indexProblem !== undefined) {
    const message = `${indexProblem}; once it is moved away, doctor fix makes a new one from the files`
    return [{ code: 'unreadable-index', path, message, repair: undefined }]
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
  const { paths } = context
  try {
    return await examined(context, other)
  } catch (error) {
    throw readError(paths.root, error)
  }
}

async function examined(context: StoreContext, other: string | undefined): Promise<Finding[]> {
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
    ...asideFindings(found.asides),
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
