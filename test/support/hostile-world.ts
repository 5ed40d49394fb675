/**
 * A place for hostile memory folders: made, looked at and removed many thousand times.
 *
 * FIFOs, devices and sockets are made once and hard-linked into place, because making
 * them needs a process each.
 */
import { spawnSync } from 'node:child_process'
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { resolveProjectMemoryPaths } from '../../src/store/paths.ts'
import type { ProjectMemoryPaths } from '../../src/types.ts'
import type { HostileFolder, HostileItem } from '../property/hostile-arbitraries.ts'
import { TEMPORARY_BASE } from './test-memory.ts'

/** What stands outside the memory folder; nobody may be shown it. */
export const SECRET = 'sesame-5c21'

/** Files above this are compared by size and time alone. */
const COMPARED_BYTES = 256 * 1024

/** One memory folder after the other at one place. */
export interface HostileWorld {
  home: string
  /** Working directory of the sessions. */
  cwd: string
  paths: ProjectMemoryPaths
  /** Replaces the memory folder. */
  build(folder: HostileFolder): void
  /** What every name below the memory folder is; `skip` names are left out. */
  snapshot(skip?: ReadonlySet<string>): ReadonlyMap<string, string>
}

/** Makes a world; removed when the running test ends. */
export async function hostileWorld(): Promise<HostileWorld> {
  const home = mkdtempSync(join(TEMPORARY_BASE, 'hostile-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const cwd = '/work/app'
  const paths = resolveProjectMemoryPaths(cwd, { DSH_HOME: home })
  const stock = join(home, 'stock')
  await fillStock(stock)
  const place = (path: string, item: HostileItem): void => placeItem(path, item, stock, paths.root)
  return {
    home,
    cwd,
    paths,
    build(folder) {
      rmSync(paths.root, { recursive: true, force: true })
      mkdirSync(paths.root, { recursive: true, mode: 0o700 })
      for (const [name, item] of folder) place(join(paths.root, name), item)
    },
    snapshot: (skip = new Set()) => {
      const seen = new Map<string, string>()
      look(paths.root, '', skip, seen)
      return seen
    },
  }
}

async function fillStock(stock: string): Promise<void> {
  mkdirSync(join(stock, 'outside'), { recursive: true })
  writeFileSync(
    join(stock, 'outside', 'secret.md'),
    `---\ndescription: ${SECRET}\n---\n${SECRET}\n`,
  )
  writeFileSync(join(stock, 'hardlink'), `- [${SECRET}](${SECRET}.md) — shared with another name\n`)
  spawnSync('mkfifo', [join(stock, 'fifo')])
  // Devices take root; elsewhere the name is left out.
  spawnSync('mknod', [join(stock, 'device'), 'c', '1', '3'])
  spawnSync('mknod', [join(stock, 'endless'), 'c', '1', '5'])
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(join(stock, 'socket'), resolve))
  onTestFinished(() => void server.close())
}

function placeItem(path: string, item: HostileItem, stock: string, root: string): void {
  if (item.kind === 'file') writeFileSync(path, item.bytes)
  else if (item.kind === 'link') {
    const [, where, rest = ''] = /^(outside|inside):(.*)$/.exec(item.target) ?? []
    const base = where === 'outside' ? join(stock, 'outside') : root
    symlinkSync(where === undefined ? item.target : join(base, rest), path)
  } else if (item.kind === 'folder') {
    mkdirSync(path)
    for (const name of item.names) {
      if (name === 'deep') mkdirSync(join(path, 'deep'))
      else writeFileSync(join(path, name), '- [Inner](inner.md) — below\n')
    }
  } else if (item.kind === 'holes') {
    writeFileSync(path, '')
    truncateSync(path, item.bytes)
  } else {
    try {
      linkSync(join(stock, item.kind), path)
    } catch {
      // The system has none; the name stays free.
    }
  }
}

function look(
  directory: string,
  prefix: string,
  skip: ReadonlySet<string>,
  seen: Map<string, string>,
): void {
  for (const name of readdirSync(directory)) {
    if (prefix === '' && skip.has(name)) continue
    const path = join(directory, name)
    const stats = lstatSync(path, { bigint: true })
    const label = `${prefix}${name}`
    if (stats.isDirectory()) {
      seen.set(label, 'folder')
      look(path, `${label}/`, skip, seen)
      continue
    }
    const size = Number(stats.size)
    let content = ''
    if (stats.isSymbolicLink()) content = readlinkSync(path)
    else if (stats.isFile() && size <= COMPARED_BYTES) content = readFileSync(path, 'latin1')
    seen.set(label, `${stats.mode} ${stats.ino} ${size} ${stats.mtimeNs} ${content}`)
  }
}
