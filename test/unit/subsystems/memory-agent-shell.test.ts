import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALLOWED_COMMANDS } from '../../support/memory-agent-allowed.ts'
import { DENIED_COMMANDS } from '../../support/memory-agent-commands.ts'
import { agentWorld, allowsCommand, decideCall } from '../../support/memory-agent-world.ts'

describe('the shell of the memory agent', () => {
  for (const [kind, commands] of Object.entries(DENIED_COMMANDS)) {
    it(`refuses ${kind}`, async () => {
      const world = await agentWorld()
      expect(commands.filter((command) => allowsCommand(world, command))).toEqual([])
    })
  }

  it('runs commands that only read, alone or joined by pipes', async () => {
    const world = await agentWorld()
    expect(ALLOWED_COMMANDS.filter((command) => !allowsCommand(world, command))).toEqual([])
  })

  it('refuses a redirection into the memory directory', async () => {
    const world = await agentWorld()
    expect(allowsCommand(world, `ls > ${world.memory}/x.md`)).toBe(false)
  })

  it('refuses a pattern that a file name starting with a dash could turn into an option', async () => {
    const world = await agentWorld()
    await writeFile(join(world.project, '-i'), '')
    const refused = [
      'ls *',
      'cat *.md',
      'cat ?.md',
      'cat [a]*',
      'grep a *',
      'grep -e -- *',
      'ls * -- f',
    ]
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    const safe = ['cat ./*.md', 'cat a*', 'ls -- *', 'grep a -- *', 'cat src/*']
    expect(safe.filter((command) => !allowsCommand(world, command))).toEqual([])
  })

  it('judges a file by where its links lead, also on the way and before a ..', async () => {
    const world = await agentWorld()
    const to = (name: string) => join(world.project, name)
    await symlink('/proc', to('kernel'))
    await symlink('kernel', to('again'))
    await symlink('/', to('top'))
    await symlink('loop', to('loop'))
    await mkdir(to('sub'))
    await symlink('/dev/null', to('sub/empty'))
    await symlink('/etc', to('sub/etc'))
    const refused = [
      'cat kernel/self/environ',
      'cat again/self/environ',
      'cat again/self/cwd/f',
      'cat ./kernel/self/environ',
      'ls kernel',
      'cat top/proc/self/environ',
      'cat sub/etc/../proc/self/environ',
      'cat sub/empty',
      'cat k*/self/environ',
      'cat [k]ernel/self/environ',
      'cat [j-l]ernel/self/environ',
      'cat ?ernel/self/environ',
      'ls *',
      'cat s*/e*',
      'cat */empty',
      'grep -r KEY top',
      'grep -r KEY t*',
      'ls -R top',
      'find top',
      'find top/',
      'cat loop',
      'cat loop/x',
    ]
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    const safe = ['cat f', 'cat *.md', 'ls top', 'cat sub/etc/hostname', 'cat s*/x*']
    expect(safe.filter((command) => !allowsCommand(world, command))).toEqual([])
  })

  it('refuses to open a FIFO, by name, through a link or through a pattern', async () => {
    const world = await agentWorld()
    execFileSync('mkfifo', [join(world.project, 'waits')])
    await symlink('waits', join(world.project, 'link'))
    const refused = ['cat waits', 'head -n 1 link', 'grep a waits', 'cat w*', 'cat f | cat waits']
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    expect(allowsCommand(world, 'ls -l waits')).toBe(true)
  })

  it('refuses a pipe that a shell in another character set would not see', async () => {
    const world = await agentWorld()
    expect(allowsCommand(world, "find . x中|grep -exec touch PWN '{}' ';'")).toBe(false)
    expect(allowsCommand(world, 'cat 中文|head')).toBe(false)
    for (const command of ['cat 中文 | head', "cat '中文'|head"]) {
      expect(allowsCommand(world, command), command).toBe(true)
    }
  })

  it('refuses patterns that are large once their repetitions are written out', async () => {
    const world = await agentWorld()
    const nested = (times: number, operator: string): string =>
      `grep -E '${'('.repeat(times)}a${`)${operator}`.repeat(times)}' f`
    const refused = [
      nested(22, '+'),
      nested(22, '{1,}'),
      nested(5, '{9}'),
      "grep -E '((.{100}){100}){2}' f",
      "grep '\\(\\(a\\{100\\}\\)\\{100\\}\\)\\+' f",
      "grep -e '(a{200}){51}' f",
      `grep -E 'a${'{255}'.repeat(140)}{1}' f`,
      `grep -E '(a${'{255}'.repeat(140)})+' f`,
    ]
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    const safe = [
      nested(300, '*'),
      nested(10, '+'),
      `grep -E '${'a+b*'.repeat(200)}' f`,
      "grep -E '[(+{][]+)]{3}x{2,}(foo|bar)+' f",
      "grep -F ')+)+' f",
      "grep '{1,2' f",
    ]
    expect(safe.filter((command) => !allowsCommand(world, command))).toEqual([])
  })

  it('refuses a stat format that fills the screen and more', async () => {
    const world = await agentWorld()
    const many = `stat -c '${'%n'.repeat(101)}' f`
    for (const command of [
      "stat -c '%999999999n' f",
      "stat --format '%-#9999n' f",
      "stat --printf='%.99999n' f",
      many,
    ]) {
      expect(allowsCommand(world, command), command).toBe(false)
    }
    for (const command of ["stat -c '%-20n %10s %Y 2026-11-30' f", "stat --printf='%n 100%%' f"]) {
      expect(allowsCommand(world, command), command).toBe(true)
    }
  })

  it('refuses what it cannot read as text: names and links that are not UTF-8', async () => {
    const world = await agentWorld()
    const odd = (name: string): Buffer => Buffer.concat([Buffer.from(name), Buffer.from([0xff])])
    await symlink('/proc/self/environ', odd(`${world.project}/env`))
    await symlink('/proc', odd(`${world.project}/d`))
    await symlink(odd('d'), join(world.project, 'lnk'))
    const refused = ['cat env*', 'cat ./e*', 'cat lnk/self/environ', 'wc -c lnk/../dev/zero']
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    expect(allowsCommand(world, 'cat f*')).toBe(true)
  })

  it('refuses a path that is too long to be looked at', async () => {
    const world = await agentWorld()
    // A link could lead there by a shorter way.
    expect(allowsCommand(world, `cat ${`${'p'.repeat(250)}/`.repeat(17)}x`)).toBe(false)
    expect(allowsCommand(world, `grep ${'x'.repeat(5_000)} f`)).toBe(true)
  })

  it('refuses a pattern that can become standard input', async () => {
    const world = await agentWorld()
    await writeFile(join(world.project, '-'), '')
    for (const command of ['cat -- *', 'wc -c -- ?', 'head -- [-a]']) {
      expect(allowsCommand(world, command), command).toBe(false)
    }
    for (const command of ['cat -- ./*', 'cat a*', 'grep a -- *.md']) {
      expect(allowsCommand(world, command), command).toBe(true)
    }
  })

  it('searches for what looks like a network path', async () => {
    const world = await agentWorld()
    for (const command of ["grep -rn '//TODO' src", "grep -e '//x' f", "grep --regexp='//x' f"]) {
      expect(allowsCommand(world, command), command).toBe(true)
    }
    for (const command of ['cat //server/share', 'grep x //server/share']) {
      expect(allowsCommand(world, command), command).toBe(false)
    }
  })

  it('refuses a pattern that matches more places than it looks at', async () => {
    const world = await agentWorld()
    for (let name = 0; name < 30; name += 1) {
      await symlink('.', join(world.project, 'dir', String(name)))
    }
    expect(allowsCommand(world, 'ls dir/*/*')).toBe(true)
    expect(allowsCommand(world, 'ls dir/*/*/*/*')).toBe(false)
  })

  it('refuses to search from the top of the file system when the cwd is there', async () => {
    const { memory } = await agentWorld()
    const world = { memory, project: '/' }
    const refused = [
      'grep -r KEY',
      'ls -R',
      'find',
      'find .',
      'cat p*/self/environ',
      'cat dev/zero',
    ]
    expect(refused.filter((command) => allowsCommand(world, command))).toEqual([])
    expect(allowsCommand(world, 'ls')).toBe(true)
  })

  it('refuses everything in a kernel folder and in one that cannot be told', async () => {
    const { memory } = await agentWorld()
    for (const project of ['/proc', '/proc/self', '/dev', '/sys/kernel']) {
      expect(allowsCommand({ memory, project }, 'ls')).toBe(false)
    }
  })

  it('judges the folder that the call asks for', async () => {
    const world = await agentWorld()
    await symlink('/proc', join(world.project, 'kernel'))
    const inFolder = (workdir: unknown, command = 'cat f') =>
      decideCall(world, 'bash', { command, workdir }).allowed
    expect(inFolder(world.project)).toBe(true)
    expect(inFolder('/proc/self', 'cat environ')).toBe(false)
    expect(inFolder('/etc/../proc/self', 'cat environ')).toBe(false)
    expect(inFolder(join(world.project, 'kernel'), 'ls')).toBe(false)
    expect(inFolder('/', 'grep -r KEY')).toBe(false)
    expect(inFolder('src')).toBe(false)
    expect(inFolder(5)).toBe(false)
    expect(inFolder(null)).toBe(false)
  })

  it('accepts harmless arguments of the shell tool and refuses all others', async () => {
    const world = await agentWorld()
    const call = (more: object) => decideCall(world, 'bash', { command: 'ls', ...more })
    const harmless = { description: 'list', timeoutMs: 5, timeout: 5, run_in_background: true }
    expect(call(harmless).allowed).toBe(true)
    expect(call({ sandbox_permissions: 'danger-full-access', justification: 'x' }).allowed).toBe(
      false,
    )
    expect(call({ env: { PATH: '.' } }).reason).toContain('env')
  })

  it('refuses the shell while PATH could find a program in the current folder', async () => {
    const world = await agentWorld()
    const withPath = (searchPath: string) =>
      decideCall(world, 'bash', { command: 'ls' }, { searchPath }).allowed
    expect(withPath('/usr/bin:/bin')).toBe(true)
    expect(['.:/bin', '/bin:', ':/bin', '/bin::/x', 'bin', ''].filter(withPath)).toEqual([])
  })

  it('says what is wrong, what is allowed and where', async () => {
    const world = await agentWorld()
    const reasonOf = (command: string) => decideCall(world, 'bash', { command }).reason ?? ''
    expect(reasonOf('sed -n 1p f')).toContain('sed is not one of the commands')
    expect(reasonOf('tail -f f')).toContain('tail -f')
    expect(reasonOf('ls\nls')).toContain('single line')
    expect(reasonOf('find . -delete')).toContain('find -delete')
    expect(reasonOf('grep -r --include=*.ts a .')).toContain('put --include=*.ts in single quotes')
    expect(reasonOf('cat ~/f')).toContain('whole path')
    for (const command of ['sed x', 'cat', 'ls; ls', 'rm x', `cat ${'y'.repeat(9000)}\u200b`]) {
      expect(reasonOf(command)).toContain('ls, find, cat, stat, wc, head, tail, grep')
      expect(reasonOf(command)).toContain(world.memory)
      expect(reasonOf(command).length).toBeLessThan(1200)
    }
  })
})
