import { execFile } from 'node:child_process'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/temp-directory.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs node in the package folder, so that it finds the package by its own name. */
async function node(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, args, { cwd: root })
  expect(stderr).toBe('')
  return stdout
}

/** Prints the URL of every module that is resolved afterwards. */
const HOOKS = `import { writeSync } from 'node:fs'
export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context)
  writeSync(1, 'resolved ' + resolved.url + '\\n')
  return resolved
}`
const REGISTER = `import { register } from 'node:module'; register(${JSON.stringify(
  `data:text/javascript,${encodeURIComponent(HOOKS)}`,
)})`

const SUBSYSTEMS = [
  ['manifest', 'subsystems/manifest'],
  ['manifest', 'src/subsystems/manifest.js'],
  ['extraction', 'subsystems/extraction'],
  ['extraction', 'src/subsystems/extraction.js'],
] as const

test.each(SUBSYSTEMS)(
  '%s as %s loads its own modules only, and the process ends',
  async (folder, path) => {
    const stdout = await node(
      '--import',
      `data:text/javascript,${encodeURIComponent(REGISTER)}`,
      '--input-type=module',
      '-e',
      `import ${JSON.stringify(`dsh-zcode-project-memory/${path}`)}`,
    )
    const urls = stdout.split('\n').filter((line) => line.startsWith('resolved file:'))
    expect(urls.length).toBeGreaterThan(3)
    for (const url of urls) expect(url).toContain(`/lib/subsystems/${folder}/`)
  },
)

test.each(SUBSYSTEMS)('%s as %s works in a bare script', async (_folder, path) => {
  const code = `import(${JSON.stringify(`dsh-zcode-project-memory/${path}`)}).then((m) => console.log(Object.keys(m).length))`
  expect(Number(await node('-e', code))).toBeGreaterThan(3)
})

test('the YAML parser is loaded when a file needs it, not before', async () => {
  const own = await temporaryDirectory()
  const other = await temporaryDirectory()
  await writeFile(join(own, 'a.md'), '---\ndescription: "Own."\n---\n')
  await writeFile(join(other, 'a.md'), '---\ndescription: Other.\n---\n')
  const code = `
    import { createRequire } from 'node:module'
    import { scanMemoryManifest } from 'dsh-zcode-project-memory/subsystems/manifest'
    const { cache } = createRequire(import.meta.url)
    const loaded = () => Object.keys(cache).filter((path) => /node_modules.yaml/.test(path)).length > 0
    const states = [loaded()]
    for (const rootDir of ${JSON.stringify([own, other])}) {
      const [entry] = await scanMemoryManifest({ rootDir })
      states.push(entry.description, loaded())
    }
    console.log(JSON.stringify(states))`
  expect(JSON.parse(await node('--input-type=module', '-e', code))).toStrictEqual([
    false,
    'Own.',
    false,
    'Other.',
    true,
  ])
})

test('5,000 files under a limit of 256 open files give exactly the newest 200', async () => {
  const folder = await temporaryDirectory()
  await mkdir(join(folder, 'sub'))
  const names = Array.from({ length: 5000 }, (_, i) => `${i % 2 === 0 ? '' : 'sub/'}f${i}.md`)
  for (const [index, name] of names.entries()) {
    await writeFile(join(folder, name), '---\ndescription: "D."\n---\n')
    await utimes(join(folder, name), 1_000_000_000 + index, 1_000_000_000 + index)
  }
  const code = `
    import { scanMemoryManifest } from 'dsh-zcode-project-memory/subsystems/manifest'
    const entries = await scanMemoryManifest({ rootDir: ${JSON.stringify(folder)} })
    console.log(JSON.stringify(entries.map(({ filename, description }) => description && filename)))`
  const script = 'ulimit -n 256 && exec "$@"'
  const args = ['-c', script, 'sh', process.execPath, '--input-type=module', '-e', code]
  const { stdout } = await run('sh', args, { cwd: root })
  expect(JSON.parse(stdout)).toStrictEqual(names.slice(-200).reverse())
})

test('the manifest example prints one line with the list of its sample folder', async () => {
  const stdout = await node('examples/manifest.mjs')
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toMatchObject({
    subsystem: 'manifest',
    count: 1,
    list: expect.stringMatching(/^- \[project\] release-day\.md \(.*Z\): Releases go out/),
  })
})

test('the manifest example scans the folder that it is given', async () => {
  const folder = await temporaryDirectory()
  const stdout = await node('examples/manifest.mjs', folder)
  expect(JSON.parse(stdout)).toStrictEqual({
    subsystem: 'manifest',
    rootDir: folder,
    count: 0,
    list: '',
  })
})

test('the extraction example prints one line with its two decisions', async () => {
  const stdout = await node('examples/extraction.mjs')
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toMatchObject({
    subsystem: 'extraction',
    first: { decision: 'run', messageCount: 2 },
    cursor: 'm2',
    second: { decision: 'skip', messageCount: 0, reason: 'no-user-prose' },
  })
})

test('after a shutdown that waited no timer keeps the process', async () => {
  const code = `
    import { createMemoryExtractionScheduler } from 'dsh-zcode-project-memory/subsystems/extraction'
    const scheduler = createMemoryExtractionScheduler(({ abortSignal }) => new Promise((resolve) => {
      abortSignal.addEventListener('abort', () => setImmediate(resolve, 'aborted'))
      setImmediate(() => void scheduler.shutdown())
    }))
    scheduler.schedule({ boundaryMessageId: 'm', durableMessages: [
      { info: { id: 'm', role: 'user' }, parts: [{ type: 'text', text: 'three words here' }] }] })
    await scheduler.drain()
    await scheduler.shutdown()
    console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)`
  expect(await node('--input-type=module', '-e', code)).toBe('0\n')
})
