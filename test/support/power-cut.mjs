/**
 * What a power cut may leave of a change.
 *
 * Role: records what a change does to names, contents and flushes while it runs on the real disk,
 * and enumerates every tree that POSIX allows after each step: an entry that was made, renamed or
 * removed is certain only once its directory was flushed, a content only once its file was. Times
 * and modes are not modelled. Does not know what a memory is.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import * as nodeFileSystem from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'

/** More entries in doubt than this at once would be more states than can be looked at. */
const MAX_DOUBTFUL_ENTRIES = 16

/** The tree of a folder, followed while it is changed. */
class Recorder {
  /** Directories have `entries` (name to number), files `content`. */
  inodes = []
  /** `entries`, `write` and `sync` steps; a sync covers the steps before `covers`. */
  steps = []

  constructor(root) {
    this.root = root
  }

  add(inode) {
    this.inodes.push(inode)
    return this.inodes.length - 1
  }

  async load(path) {
    const entries = new Map()
    const number = this.add({ entries })
    for (const item of await nodeFileSystem.readdir(path, { withFileTypes: true })) {
      const at = join(path, item.name)
      entries.set(
        item.name,
        item.isDirectory()
          ? await this.load(at)
          : this.add({ content: await nodeFileSystem.readFile(at) }),
      )
    }
    return number
  }

  find(path) {
    const inside = relative(this.root, path)
    let number = 0
    for (const name of inside === '' ? [] : inside.split(sep)) {
      number = this.inodes[number]?.entries?.get(name)
      if (number === undefined) return undefined
    }
    return number
  }

  /** Change entries of one directory in one step. */
  change(directoryPath, changes) {
    const directory = this.find(directoryPath)
    if (directory === undefined) return
    const { entries } = this.inodes[directory]
    for (const [name, number] of changes) {
      if (number === undefined) entries.delete(name)
      else entries.set(name, number)
    }
    this.steps.push({ kind: 'entries', directory, changes })
  }

  make(path, inode) {
    const number = this.add(inode)
    this.change(dirname(path), [[basename(path), number]])
    return number
  }

  rename(from, to) {
    const number = this.find(from)
    if (dirname(from) === dirname(to)) {
      this.change(dirname(from), [
        [basename(from), undefined],
        [basename(to), number],
      ])
      return
    }
    this.change(dirname(to), [[basename(to), number]])
    this.change(dirname(from), [[basename(from), undefined]])
  }

  link(from, to) {
    this.change(dirname(to), [[basename(to), this.find(from)]])
  }

  /** A folder's content goes entry by entry. */
  remove(path) {
    const number = this.find(path)
    if (number === undefined) return
    for (const name of this.inodes[number].entries?.keys() ?? []) this.remove(join(path, name))
    this.change(dirname(path), [[basename(path), undefined]])
  }

  write(number, pieces) {
    const bytes = Buffer.concat([this.inodes[number].content, ...pieces])
    this.inodes[number].content = bytes
    this.steps.push({ kind: 'write', number, content: bytes })
  }
}

function recordedHandle(handle, number, recorder) {
  return new Proxy(handle, {
    get(target, property) {
      const value = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      return async (...args) => {
        const covers = recorder.steps.length
        const result = await value.apply(target, args)
        if (property === 'writeFile') recorder.write(number, [Buffer.from(args[0])])
        if (property === 'writev') recorder.write(number, args[0])
        if (property === 'sync' && number !== undefined) {
          recorder.steps.push({ kind: 'sync', number, covers })
        }
        return result
      }
    },
  })
}

/**
 * A file system that records what happens below a folder; what is there already counts as durable.
 * @param {string} root - absolute path.
 * @param {object} real - the file system that does the work.
 */
export async function recordFileSystem(root, real = nodeFileSystem) {
  const recorder = new Recorder(root)
  await recorder.load(root)
  const before = recorder.inodes.map((inode) =>
    inode.entries === undefined ? inode : { entries: new Map(inode.entries) },
  )
  const after =
    (name, note) =>
    async (path, ...rest) => {
      const result = await real[name](path, ...rest)
      note(path, ...rest)
      return result
    }
  const remove = (path) => recorder.remove(path)
  const fileSystem = {
    chmod: real.chmod,
    lstat: real.lstat,
    readdir: real.readdir,
    realpath: real.realpath,
    utimes: real.utimes,
    mkdir: after('mkdir', (path) => recorder.make(path, { entries: new Map() })),
    link: after('link', (from, to) => recorder.link(from, to)),
    rename: after('rename', (from, to) => recorder.rename(from, to)),
    rm: after('rm', remove),
    rmdir: after('rmdir', remove),
    unlink: after('unlink', remove),
    open: async (path, flags, mode) => {
      const handle = await real.open(path, flags, mode)
      const isNew = (flags & constants.O_CREAT) !== 0 && recorder.find(path) === undefined
      const number = isNew ? recorder.make(path, { content: Buffer.alloc(0) }) : recorder.find(path)
      return recordedHandle(handle, number, recorder)
    },
  }
  return { fileSystem, recording: { inodes: recorder.inodes, before, steps: recorder.steps } }
}

function subsetsOf(items) {
  if (items.length > MAX_DOUBTFUL_ENTRIES) throw new Error(`${items.length} entries in doubt`)
  return Array.from(
    { length: 2 ** items.length },
    (_, bits) => new Set(items.filter((_item, at) => (bits >> at) & 1)),
  )
}

/** The contents that an unflushed file may have: what it had, zeros of its length, a half, all. */
function contentsOf(previous, content) {
  const half = content.subarray(0, Math.floor(content.length / 2))
  return [previous, Buffer.alloc(content.length), half, content]
}

/** For each file whether its content is certain, and which ones it may have. */
function fileContents({ before, inodes, steps }, count) {
  const contents = inodes.map((inode, number) =>
    inode.entries === undefined ? [before[number]?.content ?? Buffer.alloc(0)] : undefined,
  )
  for (const [at, step] of steps.slice(0, count).entries()) {
    if (step.kind !== 'write') continue
    const isFlushed = steps
      .slice(0, count)
      .some(({ kind, number, covers }) => kind === 'sync' && number === step.number && covers > at)
    const possible = contentsOf(contents[step.number][0], step.content)
    contents[step.number] = isFlushed ? [step.content] : possible
  }
  return contents
}

/** @returns directories by number after the steps that reached the disk. */
function directoriesAfter({ before, inodes, steps }, count, isThere) {
  const directories = inodes.map((inode, number) =>
    inode.entries === undefined ? undefined : new Map(before[number]?.entries),
  )
  for (const [at, step] of steps.slice(0, count).entries()) {
    if (step.kind !== 'entries' || !isThere(at)) continue
    for (const [name, number] of step.changes) {
      if (number === undefined) directories[step.directory].delete(name)
      else directories[step.directory].set(name, number)
    }
  }
  return directories
}

/** Paths of what can be reached; directories are `undefined`. */
function reach(directories, number = 0, path = '', found = new Map()) {
  for (const [name, child] of directories[number]) {
    const at = path === '' ? name : `${path}/${name}`
    found.set(at, child)
    if (directories[child] !== undefined) reach(directories, child, at, found)
  }
  return found
}

function* combinations(choices) {
  if (choices.length === 0) {
    yield []
    return
  }
  const [first, ...rest] = choices
  for (const others of combinations(rest)) for (const one of first) yield [one, ...others]
}

/** Every tree that may be there after the first `count` steps. */
function* treesAfter(recording, count) {
  const { steps } = recording
  const done = steps.slice(0, count)
  const doubtful = done.flatMap((step, at) => {
    if (step.kind !== 'entries') return []
    const isFlushed = done.some(
      ({ kind, number, covers }) => kind === 'sync' && number === step.directory && covers > at,
    )
    return isFlushed ? [] : [at]
  })
  const doubts = new Set(doubtful)
  const contents = fileContents(recording, count)
  for (const kept of subsetsOf(doubtful)) {
    const directories = directoriesAfter(recording, count, (at) => !doubts.has(at) || kept.has(at))
    const paths = [...reach(directories)].sort(([one], [other]) => (one < other ? -1 : 1))
    const choices = paths.map(([, number]) => contents[number] ?? [undefined])
    for (const chosen of combinations(choices)) {
      yield new Map(paths.map(([path], at) => [path, chosen[at]]))
    }
  }
}

function keyOf(tree) {
  const hash = createHash('sha1')
  for (const [path, content] of tree) {
    hash.update(`${path}\0${content === undefined ? '/' : content.length}\0`)
    if (content !== undefined) hash.update(content)
  }
  return hash.digest('base64')
}

/**
 * Every different state that a power cut may leave.
 * @returns trees (relative path to content, `undefined` for a directory), each with whether the
 *   change had ended by then.
 */
export function crashStates(recording) {
  const states = new Map()
  for (let count = 0; count <= recording.steps.length; count += 1) {
    const hasEnded = count === recording.steps.length
    for (const tree of treesAfter(recording, count)) {
      const key = `${keyOf(tree)}${hasEnded ? ' ended' : ''}`
      if (!states.has(key)) states.set(key, { tree, hasEnded })
    }
  }
  return [...states.values()]
}

/** Make a tree in an empty folder. */
export async function rebuild(tree, folder) {
  for (const [path, content] of tree) {
    if (content === undefined) await nodeFileSystem.mkdir(join(folder, path), { mode: 0o700 })
    else await nodeFileSystem.writeFile(join(folder, path), content, { mode: 0o600 })
  }
}
