/**
 * What an outcome means to a script.
 *
 * Role: pure. 0: done. 1: something was found (doctor, an export with gaps) or
 * nothing was found (no such memory, one without a readable file, no match, no
 * folder to import). 2: wrong usage. 3: the disk or another process is in the way.
 */
import type { Outcome } from './outcome.ts'

/** Failures that are about what was asked for, not about the surroundings. */
const REFUSALS = new Set(['INVALID_ARGUMENT', 'NOT_FOUND'])

/** @returns the exit code; of wrong usage only a project that is nowhere becomes an outcome. */
export function exitCodeOf(outcome: Outcome): 0 | 1 | 2 | 3 {
  switch (outcome.kind) {
    case 'missing':
    case 'ambiguous':
      return 1
    case 'show':
      return outcome.memory.problem === null ? 0 : 1
    case 'search':
      return outcome.memories.length === 0 ? 1 : 0
    case 'doctor':
      return outcome.remaining.length === 0 ? 0 : 1
    case 'import':
      return outcome.needsFolder || outcome.items.length === 0 ? 1 : 0
    case 'export':
      return outcome.skipped.length === 0 ? 0 : 1
    case 'failure':
      if (outcome.code === 'NO_PROJECT') return 2
      return REFUSALS.has(outcome.code) ? 1 : 3
    default:
      return 0
  }
}
