/** Memory folders on the real disk for the tests of the manifest. */
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  createLocalFileSystem,
  type ManifestFileSystem,
  scanMemoryManifest,
} from '../../../src/subsystems/manifest/index.ts'

/** A memory with a description and the type `project`. */
export const HEALTHY =
  '---\nname: "h"\ndescription: "Healthy."\nmetadata:\n  type: project\n---\n\nBody.\n'

/** Writes a file, its folders too; `second` counts from 2001, so that order is known. */
export async function put(root: string, name: string, text = HEALTHY, second = 0): Promise<string> {
  const path = join(root, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  const time = 978_307_200 + second
  await utimes(path, time, time)
  return path
}

/** The `filename` of every entry of a scan. */
export async function scanNames(
  rootDir: string,
  fileSystem?: ManifestFileSystem,
): Promise<string[]> {
  return (await scanMemoryManifest({ rootDir, fileSystem })).map(({ filename }) => filename)
}

/** The real disk with some calls replaced. */
export function faulty(root: string, faults: Partial<ManifestFileSystem>): ManifestFileSystem {
  return { ...createLocalFileSystem(root), ...faults }
}

/** An error as the operating system makes it. */
export function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}
