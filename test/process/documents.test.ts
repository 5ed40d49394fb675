import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { resolveConfig } from '../../src/config.ts'
import { memoryFileNames } from '../../src/format/slug.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const readmes = ['README.md', 'README.zh.md']
const documents = [
  ...readmes,
  'NOTICE.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Rows of the table that follows a heading, cells without their code marks. */
function tableUnder(text: string, heading: string): string[][] {
  const [, ...after] = text.split(new RegExp(`^#+ ${heading}$`, 'mu'))
  const lines = (after[0] ?? '').split('\n')
  const start = lines.findIndex((line) => line.startsWith('| --- '))
  const rows = lines.slice(start + 1)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/u, '$1')),
  )
}

describe('the READMEs', () => {
  test('quote texts and sizes as the built code has them', () => {
    const script = join(root, 'scripts', 'update-quotes.mjs')
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  test.each([
    ['README.md', 'Configuration'],
    ['README.zh.md', '配置'],
  ])('%s lists every setting with its default', (name, heading) => {
    const rows = tableUnder(read(name), heading).map(([key, value]) => [key, value])
    const defaults = Object.entries(resolveConfig({})).map(([key, value]) => [key, String(value)])
    expect(rows).toEqual(defaults)
  })

  test.each(readmes)('%s shows the file names that keys really get', (name) => {
    const rows = [...read(name).matchAll(/^\| `([^`]+)` \| `([a-z0-9.-]+\.md)` \|$/gmu)]
    expect(rows.length).toBeGreaterThanOrEqual(3)
    for (const [, key = '', fileName] of rows) expect(memoryFileNames(key).preferred).toBe(fileName)
  })

  test('have the same sections, tables and code blocks', () => {
    const shape = (text: string): Record<string, number> => ({
      headings: text.match(/^## /gmu)?.length ?? 0,
      rows: text.match(/^\|/gmu)?.length ?? 0,
      fences: text.match(/^```/gmu)?.length ?? 0,
      bullets: text.match(/^- /gmu)?.length ?? 0,
    })
    expect(shape(read('README.zh.md'))).toEqual(shape(read('README.md')))
  })
})

test.each(documents)('every relative link of %s leads to a file', (name) => {
  const links = [...read(name).matchAll(/\]\((?!https?:|#)([^)\s#]+)[^)]*\)/gu)]
    .map(([, target]) => target as string)
    .filter(
      (target) =>
        !/^(?:tide-table-rule|[\w-]+)\.md$/u.test(target) ||
        target.startsWith('README') ||
        target === 'NOTICE.md',
    )
  for (const target of links) {
    expect(existsSync(join(root, dirname(name), target)), `${name}: ${target}`).toBe(true)
  }
})

test.each(documents)('every test that %s names is there', (name) => {
  const paths = [...read(name).matchAll(/`(test\/[\w/.-]+\.test\.ts)`/gu)].map(([, path]) => path)
  if (name === 'docs/durability.md') expect(paths.length).toBeGreaterThan(20)
  for (const path of paths) expect(existsSync(join(root, path as string)), path).toBe(true)
})

test('the counts of every proof stand in the document', () => {
  const [, block = ''] =
    /<!-- proofs -->([^]*)<!-- \/proofs -->/u.exec(read('docs/durability.md')) ?? []
  for (const proof of ['fault', 'power-cut', 'kill', 'fuzz', 'load']) {
    expect(block, proof).toContain(`\n| ${proof} | `)
  }
  const numbers = [...block.matchAll(/(\d+) (?:broken|missing|errors)/gu)].map(([, count]) => count)
  expect(numbers.length).toBeGreaterThan(4)
  expect(new Set(numbers)).toEqual(new Set(['0']))
})
