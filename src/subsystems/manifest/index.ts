/**
 * Subsystem `manifest`: which memories a folder holds, newest first.
 *
 * Role: public face. Imports neither the other subsystems nor the store nor the
 * host; importing it touches nothing, and the YAML parser is loaded only when a
 * file needs it.
 */
export { formatMemoryManifest } from './format.ts'
export { createLocalFileSystem } from './local-file-system.ts'
export { scanMemoryManifest, type ScanMemoryManifestOptions } from './scan.ts'
export {
  MANIFEST_FILE_LIMIT,
  MANIFEST_PREVIEW_BYTE_LIMIT,
  MANIFEST_PREVIEW_LINE_LIMIT,
  type ManifestEntry,
  type ManifestEntryKind,
  type ManifestFileSystem,
  type ManifestMetadata,
  type ManifestPortOptions,
  type ManifestRecallType,
} from './types.ts'
