/**
 * Scans a memory folder and prints the list of memories that a model would see.
 *
 * Run: `node examples/manifest.mjs [folder]`, after `npm run build`. Without a folder it
 * makes a small one, scans it and removes it again.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  formatMemoryManifest,
  scanMemoryManifest,
} from 'dsh-zcode-project-memory/subsystems/manifest'

const folder = process.argv[2]
if (folder === undefined) await withSampleFolder(printManifest)
else await printManifest(folder)

async function printManifest(rootDir) {
  const entries = await scanMemoryManifest({ rootDir })
  const list = formatMemoryManifest(entries)
  console.log(JSON.stringify({ subsystem: 'manifest', rootDir, count: entries.length, list }))
}

async function withSampleFolder(use) {
  const rootDir = await mkdtemp(join(tmpdir(), 'memory-example-'))
  try {
    await writeFile(join(rootDir, 'MEMORY.md'), '- [Release day](release-day.md) — Thursdays.\n')
    await writeFile(
      join(rootDir, 'release-day.md'),
      '---\nname: "release-day"\ndescription: "Releases go out on Thursdays."\nmetadata:\n  type: project\n---\n\nNever on Fridays.\n',
    )
    await use(rootDir)
  } finally {
    await rm(rootDir, { recursive: true, force: true })
  }
}
