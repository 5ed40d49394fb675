/**
 * Public names of `dsh-zcode-project-memory/store`.
 */
export { MemoryError, SymlinkWriteRefusedError } from '../errors.ts'
export { writeFileAtomic } from './atomic-write.ts'
export {
  assertContainedMemoryPath,
  assertSafeMemoryFileName,
  resolveDshHome,
  resolveProjectMemoryPaths,
} from './paths.ts'
export { MEMORY_BODY_MAX_CHARS } from './save-request.ts'
export { MEMORY_READ_MAX_BYTES, readMemoryFileStable } from './stable-read.ts'
export type { MemoryListing, SaveResult } from './store.ts'
export { ProjectMemoryStore } from './store.ts'
export type { SaveInput } from './save-request.ts'
export type { ProjectMemoryPaths } from '../types.ts'
