/**
 * What doctor has to say about single memory files and about what stands aside.
 *
 * Role: reads each file, since one that cannot be read as text is of no use, and
 * words the finding. Changes nothing.
 */
import type { Stats } from 'node:fs'
import { basename, join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import type { Aside, AsideNeed } from './aside.ts'
import type { StoreContext } from './context.ts'
import type { Finding } from './doctor.ts'
import { assertUtf8, readStableBytes } from './stable-read.ts'
import { hasCopyInTrash } from './trash.ts'

/** @returns one line: why something cannot be looked at. */
export function reasonOf(error: unknown): string {
  if (error instanceof MemoryError) return error.message
  return `cannot be looked at (${errnoOf(error) ?? 'unexpected error'})`
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

/** A file without line: a save to finish or a forget to finish. */
async function unlistedFinding(
  context: StoreContext,
  path: string,
  bytes: Buffer,
): Promise<Finding> {
  const fileName = basename(path)
  if (!(await hasCopyInTrash(context, fileName, bytes))) return unfinishedSave(path)
  return {
    code: 'unfinished-forget',
    path,
    message: `${fileName} was being forgotten: its copy is in the trash, its line is gone`,
    repair: `remove ${fileName}; the copy in the trash stays`,
  }
}

/**
 * Look at one memory file.
 * @param stats - what it is, or why that cannot be told.
 * @param isListed - whether the index has a line for it; `undefined` when that cannot be told.
 * @returns `undefined` when nothing is wrong with it.
 */
export async function fileFinding(
  context: StoreContext,
  fileName: string,
  stats: Stats | string,
  isListed: boolean | undefined,
): Promise<Finding | undefined> {
  const path = join(context.paths.root, fileName)
  const unreadable = (reason: string): Finding => ({
    code: 'unreadable-file',
    path,
    message: reason.includes(path) ? reason : `${fileName} ${reason}`,
    repair: undefined,
  })
  if (typeof stats === 'string') return unreadable(stats)
  let file: Awaited<ReturnType<typeof readStableBytes>>
  try {
    file = await readStableBytes(path, { fileSystem: context.fileSystem })
    if (file === undefined) return undefined
    assertUtf8(path, file.bytes)
  } catch (error) {
    return unreadable(reasonOf(error))
  }
  if (isListed !== false) return undefined
  try {
    return await unlistedFinding(context, path, file.bytes)
  } catch (error) {
    return unreadable(`has no line in the index, and it cannot be told why: ${reasonOf(error)}`)
  }
}

/** What stands aside, and what it is needed for. */
export interface AsideSight {
  aside: Aside
  need: AsideNeed | { unclear: string }
}

/** @returns findings about what stands aside and is needed, or of which that cannot be told. */
export function asideFindings(sights: readonly AsideSight[]): Finding[] {
  return sights.flatMap(({ aside: { fileName, path }, need }): Finding[] => {
    const name = basename(path)
    if (need === 'nothing') return []
    if (typeof need === 'object') {
      const message = `${name} cannot be judged: ${need.unclear}`
      return [{ code: 'unreadable-file', path, message, repair: undefined }]
    }
    const repair =
      need === 'return'
        ? `put ${fileName} back, with a line in the index`
        : `move it to the trash, since there is another ${fileName} by now`
    const message = `a version of ${fileName} stands aside as ${name}: its removal was interrupted`
    return [{ code: 'moved-aside', path, fileName, message, repair }]
  })
}
