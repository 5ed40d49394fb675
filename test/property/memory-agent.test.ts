import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, sep } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenizeCommand } from '../../src/subsystems/memory-agent/shell-tokenizer.ts'
import { DENIED_COMMANDS } from '../support/memory-agent-commands.ts'
import { agentWorld, allowsCommand, decideCall, HOST_TOOLS } from '../support/memory-agent-world.ts'
import { temporaryDirectory } from '../support/temp-directory.ts'

/** One command may take this long; reading a handful of small files takes milliseconds. */
const COMMAND_TIMEOUT_MS = 5000

/** Every entry below a directory: its kind, mode, time and content. */
function snapshot(base: string, skip: (path: string) => boolean = () => false): string[] {
  const entries: string[] = []
  for (const name of readdirSync(base).sort()) {
    const path = join(base, name)
    if (skip(path)) continue
    const found = lstatSync(path)
    if (found.isDirectory()) entries.push(`${path} ${found.mode}`, ...snapshot(path, skip))
    else {
      const content = found.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'latin1')
      entries.push(`${path} ${found.mode} ${found.mtimeMs} ${content}`)
    }
  }
  return entries
}

/** Where an index stands: outside quotes, or inside which. */
function quoteAt(command: string, index: number): string {
  let quote = ''
  for (let at = 0; at < index; at += 1) {
    const character = command.charAt(at)
    if (quote === '' && character === '\\') at += 1
    else if (quote === character) quote = ''
    else if (quote === '' && (character === "'" || character === '"')) quote = character
  }
  return quote
}

/** Ways to dress a command that leave a shell with the same words, or give it more to do. */
const DISGUISES: Readonly<Record<string, (command: string, index: number) => string>> = {
  newline: (command, index) => insert(command, index, '\n'),
  invisible: (command, index) => insert(command, index, '\u200B'),
  joiner: (command, index) => insert(command, index, '\u2060'),
  'direction mark': (command, index) => insert(command, index, '\u202E'),
  'empty quotes': (command, index) =>
    quoteAt(command, index) === '"' ? command : insert(command, index, "''"),
  'quoted character': (command, index) => replace(command, index, (text) => `'${text}'`),
  'double-quoted character': (command, index) => replace(command, index, (text) => `"${text}"`),
  'ANSI-quoted character': (command, index) => replace(command, index, (text) => `$'${text}'`),
  'ANSI-quoted code': (command, index) =>
    replace(command, index, (text) => `$'\\x${text.charCodeAt(0).toString(16)}'`),
  backslash: (command, index) =>
    quoteAt(command, index) === "'" ? command : insert(command, index, '\\'),
  'line continuation': (command, index) => insert(command, index, '\\\n'),
  braces: (command, index) => replace(command, index, (text) => `{${text},}`),
  'empty variable': (command, index) =>
    quoteAt(command, index) === "'" ? command : insert(command, index, '$x'),
}

function insert(command: string, index: number, text: string): string {
  return command.slice(0, index) + text + command.slice(index)
}

/** Changes one harmless character outside quotes; anything else is left alone. */
function replace(command: string, index: number, change: (text: string) => string): string {
  const text = command.charAt(index)
  if (!/[\w./-]/u.test(text) || quoteAt(command, index) !== '') return command
  return command.slice(0, index) + change(text) + command.slice(index + 1)
}

describe('the shell of the memory agent', () => {
  it('runs no command that changes, creates or waits for anything', async () => {
    const world = await agentWorld()
    const base = dirname(world.project)
    const canary = join(world.project, 'src', 'canary')
    writeFileSync(canary, 'alive\n')
    chmodSync(canary, 0o640)
    const memories = ['a.md', 'b.md', 'sub/a.md'].map((name) => join(world.memory, name))
    const before = snapshot(base, (path) => memories.includes(path))
    const kinds = new Set<string>()
    fc.assert(
      fc.property(commands(world), (command) => {
        if (!allowsCommand(world, command)) return
        const { error, signal } = spawnSync('bash', ['-c', command], {
          cwd: world.project,
          timeout: COMMAND_TIMEOUT_MS,
          killSignal: 'SIGKILL',
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { PATH: process.env['PATH'], HOME: base, LC_ALL: 'C.UTF-8' },
        })
        expect({ command, error, signal }).toEqual({ command, error: undefined, signal: null })
        expect(snapshot(base, (path) => memories.includes(path))).toEqual(before)
        for (const path of memories) writeFileSync(path, 'memory\n')
        kinds.add(command.trim().split(/[\s|]/u)[0] ?? '')
      }),
      { numRuns: 1000 },
    )
    expect([...kinds].sort()).toEqual('cat find grep head ls rm stat tail wc'.split(' '))
  })

  it('lets no denied command through in a disguise', async () => {
    const world = await agentWorld()
    const denied = Object.values(DENIED_COMMANDS).flat()
    const disguise = fc.tuple(fc.constantFrom(...Object.keys(DISGUISES)), fc.nat(200))
    fc.assert(
      fc.property(
        fc.constantFrom(...denied),
        fc.array(disguise, { minLength: 1, maxLength: 3 }),
        (command, disguises) => {
          let dressed = command
          for (const [name, index] of disguises) {
            dressed = DISGUISES[name]?.(dressed, index % (dressed.length + 1)) ?? dressed
          }
          expect(allowsCommand(world, dressed) ? dressed : '').toBe('')
        },
      ),
      { numRuns: 6000 },
    )
  })

  it('reads words as bash does', async () => {
    const cwd = await temporaryDirectory()
    const characters = [
      ...Array.from(`ab -=%+,:@.~{}*?[]'"\\$!#^&;<>()|\t/é中`),
      "''",
      '""',
      "'\\'",
      '"\'"',
    ]
    const line = fc.array(fc.constantFrom(...characters), { maxLength: 12 })
    const quoted = fc.array(
      fc.oneof(
        fc.stringMatching(/^[ab./-]{1,3}$/u),
        fc.stringMatching(/^'[ a$!\\"|&;<>*~#{}-]{0,5}'$/u),
        fc.stringMatching(/^"[ a'|&;<>*~#{}()-]{0,5}"$/u),
        fc.constant(' '),
      ),
      { maxLength: 10 },
    )
    const accepted: { text: string; expected: string }[] = []
    for (const parts of fc.sample(fc.oneof(line, quoted), 10_000)) {
      const text = parts.join('')
      const read = tokenizeCommand(`show ${text}`)
      if ('problem' in read || read.tokens.some((token) => token.kind !== 'word')) continue
      const values = read.tokens.map((token) => (token.kind === 'word' ? `<${token.value}>` : ''))
      accepted.push({ text, expected: values.join('') })
    }
    const show = `set -f; show() { printf '<%s>' show "$@"; printf '\\n'; }\n`
    const script = show + accepted.map(({ text }) => `show ${text}\n`).join('')
    const { stdout } = spawnSync('bash', ['-s'], {
      cwd,
      input: script,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: '/home-of-nobody', LC_ALL: 'C.UTF-8' },
    })
    const lines = stdout.split('\n')
    expect(accepted.map(({ text }, at) => `${text} => ${lines[at]}`)).toEqual(
      accepted.map(({ text, expected }) => `${text} => ${expected}`),
    )
    expect(lines).toHaveLength(accepted.length + 1)
    expect(accepted.length).toBeGreaterThan(1000)
    expect(readdirSync(cwd)).toEqual([])
  })
})

/** Commands near the border: mostly well-formed, with pieces that must not get through. */
function commands(world: { memory: string; project: string }): fc.Arbitrary<string> {
  const { memory, project } = world
  const pick = (text: string) => fc.constantFrom(...text.split(' '))
  const file = fc.oneof(
    pick(`f a.md src dir src/canary *.md ./*.md s* ?.md [a-f]* ../outside/x.md - -- '' "f" 'a.md'`),
    pick(`${project}/src/canary ${memory}/a.md ${memory}/MEMORY.md ${memory}/link/x.md`),
  )
  const option = fc.oneof(
    pick('-l -a -R -n -c -r -f -5 -1 -e -i -v -A2 -rn -la -qv -L -q -h -s -w -z -b -t -o -d -T -F'),
    pick(
      '--lines=2 --color --color=auto --recursive --include=*.md --output=x --follow --sort=size',
    ),
    pick('-name -type -delete -print -exec -fprint -maxdepth -o -not -newer -size {} + x 2 f k'),
    pick('+5 -5f -n5 -n+2 -c9 --bytes 3 --help --version -x1'),
  )
  const glue = pick(`| || && ; & > >> < 2>/dev/null 2>&1 2>x &>x |& $(x) \`x\` $'x' {a,x} \\ ! # ~`)
  const pattern = pick(`a '=>' 'a|b' "st" '$(x)' '\\.' -ea -e 'a{2,3}' '(' ')' '!'`)
  const known = pick('ls find cat stat wc head tail grep')
  const name = fc.oneof(
    { arbitrary: known, weight: 9 },
    { arbitrary: pick('tee touch'), weight: 1 },
  )
  const argument = fc.oneof(
    { arbitrary: file, weight: 5 },
    { arbitrary: option, weight: 4 },
    { arbitrary: pattern, weight: 2 },
    { arbitrary: glue, weight: 1 },
  )
  const stage = fc
    .tuple(name, fc.array(argument, { maxLength: 4 }))
    .map(([command, rest]) => [command, ...rest].join(' '))
  const pipe = fc.array(stage, { minLength: 1, maxLength: 3 }).map((stages) => stages.join(' | '))
  const removed = pick('a.md b.md sub/a.md MEMORY.md link/x.md ../x.md .trash/old.md *.md')
  const removal = fc
    .tuple(pick('-f -- -v -r'), fc.array(removed, { minLength: 1, maxLength: 3 }))
    .map(([flag, names]) => ['rm', flag, ...names.map((part) => `${memory}/${part}`)].join(' '))
  return fc.oneof({ arbitrary: pipe, weight: 9 }, { arbitrary: removal, weight: 1 })
}

describe('the policy of the memory agent', () => {
  it('answers any call without throwing', async () => {
    const world = await agentWorld()
    const names = fc.oneof(fc.constantFrom(...HOST_TOOLS), fc.string())
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
    const input = fc.oneof(
      fc.jsonValue(),
      fc.record({ command: fc.oneof(text, fc.jsonValue()) }),
      fc.record({ command: text.map((rest) => `cat ${rest}`), workdir: text }),
      fc.record({
        file_path: fc.oneof(
          text,
          text.map((rest) => join(world.memory, rest)),
        ),
      }),
    )
    fc.assert(
      fc.property(names, input, (name, args) => {
        const { allowed, reason } = decideCall(world, name, args)
        expect(allowed || (typeof reason === 'string' && reason !== '')).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  it('lets a write create or change nothing outside the memory directory', async () => {
    const world = await agentWorld()
    const base = dirname(world.project)
    const outside = () => snapshot(base, (path) => path === world.memory)
    const before = outside()
    const segment = fc.constantFrom(
      ...'.. . sub link a.md b.md new.md .git hooks memory shop-1 outside x.md MEMORY.md'.split(
        ' ',
      ),
    )
    let written = 0
    fc.assert(
      fc.property(
        fc.constantFrom(`${world.memory}/`, '', `${base}/`, `${world.memory}/link/../`),
        fc.array(segment, { maxLength: 5 }),
        (start, segments) => {
          const file_path = start + segments.join('/')
          if (!decideCall(world, 'write', { file_path, content: '' }).allowed) return
          try {
            mkdirSync(dirname(file_path), { recursive: true })
            writeFileSync(file_path, 'written')
            expect(realpathSync(file_path).startsWith(world.memory + sep)).toBe(true)
            written += 1
          } catch (error) {
            // A file in a directory's place or the other way round: nothing was written.
            expect(['ENOTDIR', 'EISDIR']).toContain((error as NodeJS.ErrnoException).code)
          }
          expect(outside()).toEqual(before)
          for (const name of ['new.md', 'x.md', 'memory', 'shop-1', 'outside']) {
            rmSync(join(world.memory, name), { recursive: true, force: true })
          }
        },
      ),
      { numRuns: 3000 },
    )
    expect(written).toBeGreaterThan(50)
  })
})
