import { spawnSync } from 'node:child_process'
import { cp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/temp-directory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function testSubsystems(...folder: string[]): { status: number | null; lines: string[] } {
  const script = join(root, 'scripts', 'test-subsystems.mjs')
  const args = [script, ...folder]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { status, lines: stdout.trimEnd().split('\n') }
}

test('the example of each subsystem says what it should and ends by itself', () => {
  expect(testSubsystems()).toEqual({
    status: 0,
    lines: ['ok manifest', 'ok extraction', 'ok memory-agent', '', '3 passed, 0 failed, 0 skipped'],
  })
})

test('an example that fails, chatters or says something else is noticed', async () => {
  const folder = await temporaryDirectory()
  await writeFile(join(folder, 'manifest.mjs'), 'process.exit(3)')
  await writeFile(join(folder, 'extraction.mjs'), 'console.log("a\\nb")')
  const wrong = { subsystem: 'memory-agent', saved: 'release-day.md', content: 'x', refused: [] }
  await writeFile(
    join(folder, 'memory-agent.mjs'),
    `console.log(${JSON.stringify(JSON.stringify(wrong))})`,
  )
  const { status, lines } = testSubsystems(folder)
  expect(status).toBe(1)
  expect(lines).toContain('FAILED manifest: exit code 3')
  expect(lines).toContain('FAILED extraction: printed 2 lines instead of one')
  expect(lines).toContain(`FAILED memory-agent: printed ${JSON.stringify(wrong)}`)
  expect(lines.at(-1)).toBe('0 passed, 3 failed, 0 skipped')
})

test('the memory agent example leaves nothing behind', async () => {
  const folder = await temporaryDirectory()
  await cp(join(root, 'examples', 'memory-agent.mjs'), join(folder, 'used.mjs'))
  const { status, stdout } = spawnSync(process.execPath, ['examples/memory-agent.mjs'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: folder },
  })
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    subsystem: 'memory-agent',
    turns: 3,
    refused: ['2'],
    saved: 'release-day.md',
    content: 'Never on Fridays.\n',
    answer: 'Saved the release day.',
  })
  expect(await readdir(folder)).toEqual(['used.mjs'])
})
