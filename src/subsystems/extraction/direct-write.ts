/**
 * Recognises tool calls that changed the memory themselves.
 *
 * Role: pure test of one transcript part. The path test is lexical: it neither reads
 * the disk nor knows the working directory of the process.
 */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type {
  MemoryExtractionSnapshot,
  MemoryTranscriptPart,
  MemoryTranscriptToolPart,
} from './types.ts'

const MEMORY_TOOLS = new Set(['save_project_memory', 'forget_project_memory'])
const FILE_TOOLS = new Set(['write', 'edit'])

/** States of a call that is known to have changed nothing; every other one counts. */
const FAILED_STATUSES = new Set(['error', 'failed', 'denied', 'rejected', 'aborted', 'cancelled'])

/** Directories that the path of a call is judged by. */
export type DirectWritePlace = Pick<MemoryExtractionSnapshot, 'memoryRoot' | 'workingDirectory'>

/**
 * @param part - of an assistant message.
 * @param place - without a memory root only the memory tools count.
 * @returns whether the call saved or forgot a memory, or wrote a file below the memory
 *   root, and is not known to have failed.
 */
export function isDirectMemoryWrite(part: MemoryTranscriptPart, place: DirectWritePlace): boolean {
  if (part?.type !== 'tool') return false
  const { tool, name, state } = part as MemoryTranscriptToolPart
  if (typeof state?.status === 'string' && FAILED_STATUSES.has(state.status)) return false
  const calledTool = tool ?? name ?? ''
  if (MEMORY_TOOLS.has(calledTool)) return true
  return FILE_TOOLS.has(calledTool) && isContained(filePathOf(state?.input), place)
}

function filePathOf(input: unknown): string {
  const value = typeof input === 'string' ? parseJson(input) : input
  if (typeof value !== 'object' || value === null || !('file_path' in value)) return ''
  return typeof value.file_path === 'string' ? value.file_path : ''
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Arguments that are no JSON never reached the tool.
    return undefined
  }
}

function isContained(filePath: string, place: DirectWritePlace): boolean {
  const { memoryRoot, workingDirectory } = place
  if (filePath === '' || !isAbsolutePath(memoryRoot)) return false
  if (!isAbsolute(filePath) && !isAbsolutePath(workingDirectory)) return false
  const path = relative(memoryRoot, resolve(workingDirectory ?? memoryRoot, filePath))
  return path !== '' && path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path)
}

function isAbsolutePath(path: unknown): path is string {
  return typeof path === 'string' && isAbsolute(path)
}
