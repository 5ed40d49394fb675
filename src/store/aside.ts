/**
 * Memory files that stand aside.
 *
 * Role: a file is moved aside before it is removed (`remove-version.ts`). A
 * process that ends or a disk that fails in between leaves it there; this tells
 * what it is still needed for, and puts it back, into the trash, or removes it.
 * A name goes only after what replaces it is durable, and bytes go only when
 * they are elsewhere too.
 */
import { join } from 'node:path'
import { MemoryError, errnoOf } from '../errors.ts'
import { readMemoryHeader } from '../format/memory-file.ts'
import { moveIfAbsent, withRetries } from './atomic-write.ts'
import type { StoreContext } from './context.ts'
import { syncDirectory, writeError } from './directories.ts'
import type { FileSystem } from './file-system.ts'
import { readStableBytes } from './stable-read.ts'
import { fileNameOfAside } from './temporary-name.ts'
import { hasCopyInTrash, writeTrash } from './trash.ts'

/** A file that stands aside. */
export interface Aside {
  path: string
  /** The memory file that it was. */
  fileName: string
}

/**
 * What a file that stands aside is needed for: it is the only copy of its memory, a version that
 * another one has the name of, or nothing since its bytes are there too.
 */
export type AsideNeed = 'return' | 'trash' | 'nothing'

/** @returns the file that stands aside under a path, if the path is one of such a file. */
export function asideAt(path: string): Aside | undefined {
  const fileName = fileNameOfAside(path)
  return fileName === undefined ? undefined : { path, fileName }
}

/**
 * What a file that stands aside is needed for.
 * @throws MemoryError or the system's error when that cannot be told: it, what has its name, or its
 *   copy in the trash is no regular file or cannot be read.
 */
export async function needOf(context: StoreContext, { fileName, path }: Aside): Promise<AsideNeed> {
  const { fileSystem, paths } = context
  const aside = await readStableBytes(path, { fileSystem })
  if (aside === undefined) return 'nothing'
  const present = await readStableBytes(join(paths.root, fileName), { fileSystem })
  if (present?.bytes.equals(aside.bytes) === true) return 'nothing'
  if (await hasCopyInTrash(context, fileName, aside.bytes)) return 'nothing'
  return present === undefined ? 'return' : 'trash'
}

/** Keep a version that another one has the name of where undo finds it. */
async function copyToTrash(context: StoreContext, { fileName, path }: Aside): Promise<void> {
  const file = await readStableBytes(path, { fileSystem: context.fileSystem })
  if (file === undefined) return
  const { title = '' } = readMemoryHeader(file.bytes.toString('utf8'))
  const record = { fileName, title, indexLine: '', after: null, sessionId: null }
  await writeTrash(context, record, file, Date.now())
}

/**
 * Remove the name of a file that stands aside once its other name is durable.
 * @throws the system's error; it stands aside still.
 */
export async function dropAside(
  path: string,
  directory: string,
  fileSystem: FileSystem,
): Promise<void> {
  await syncDirectory(directory, fileSystem)
  try {
    await withRetries(() => fileSystem.unlink(path))
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/**
 * Give a file that stands aside what it is needed for. Under the lock. Durable when the promise
 * resolves, but for the removal of the name aside.
 * @throws MemoryError or the system's error when it cannot be told or done; it stands aside still.
 */
export async function settleAside(context: StoreContext, aside: Aside): Promise<void> {
  const { fileSystem, paths } = context
  let need = await needOf(context, aside)
  if (need === 'return') {
    const isBack = await moveIfAbsent(aside.path, join(paths.root, aside.fileName), fileSystem)
    if (!isBack) need = 'trash'
  }
  if (need === 'trash') await copyToTrash(context, aside)
  await dropAside(aside.path, paths.root, fileSystem)
}

/** @returns what stands aside, moved last first, so that the newest version gets the name. */
async function asidesIn({ fileSystem, paths }: StoreContext): Promise<Aside[]> {
  const names = await fileSystem.readdir(paths.root)
  const found = names.flatMap((name) => asideAt(join(paths.root, name)) ?? [])
  const dated = await Promise.all(
    found.map(async (aside) => {
      const stats = await fileSystem.lstat(aside.path).catch(() => undefined)
      return { aside, movedMs: stats?.ctimeMs ?? 0 }
    }),
  )
  return dated.sort((one, other) => other.movedMs - one.movedMs).map(({ aside }) => aside)
}

/**
 * Settle all that stands aside. Under the lock.
 * @returns why what stays could not be settled, by file name; doctor names it too.
 * @throws the system's error when the directory cannot be listed.
 */
export async function settleAsides(context: StoreContext): Promise<ReadonlyMap<string, unknown>> {
  const unsettled = new Map<string, unknown>()
  for (const aside of await asidesIn(context)) {
    try {
      await settleAside(context, aside)
    } catch (error) {
      unsettled.set(aside.fileName, writeError(aside.path, error))
    }
  }
  return unsettled
}

/**
 * Refuse to change a memory of which a version stands aside still: it would come back later.
 * @param unsettled - from {@link settleAsides}.
 * @throws MemoryError with the cause's code and errno.
 */
export function assertSettled(fileName: string, unsettled: ReadonlyMap<string, unknown>): void {
  if (!unsettled.has(fileName)) return
  const cause = unsettled.get(fileName)
  const coded = cause instanceof MemoryError ? cause : undefined
  throw new MemoryError(
    coded?.code ?? 'WRITE_FAILED',
    `a version of ${fileName} whose removal was interrupted cannot be tidied up: ${coded?.message ?? 'unexpected error'}; run doctor`,
    { cause, ...(coded?.errno === undefined ? {} : { errno: coded.errno }) },
  )
}
