/**
 * The manifest as text for a model.
 *
 * Role: one physical line per entry. Pure; neither sorts nor cuts the list. Cleans again
 * what the scanner has cleaned, because entries may come from elsewhere.
 */
import { toOneLine } from './one-line.ts'
import { isRecallType, type ManifestEntry } from './types.ts'

/** Largest absolute time value of a `Date`, from ECMA-262. */
const MAX_TIME_MS = 8.64e15

/**
 * @param entries - in the order to show.
 * @returns lines of the form `- [type] file.md (ISO time): description`, joined by LF;
 *   type and description are left out when unknown; '' without entries. A time that
 *   no date can express is shown as the epoch.
 */
export function formatMemoryManifest(entries: readonly ManifestEntry[]): string {
  return entries.map(formatEntry).join('\n')
}

function formatEntry(entry: ManifestEntry): string {
  const type = isRecallType(entry.type) ? `[${entry.type}] ` : ''
  const time = Math.abs(entry.mtimeMs) <= MAX_TIME_MS ? entry.mtimeMs : 0
  const description = toOneLine(entry.description ?? '')
  const tail = description === '' ? '' : `: ${description}`
  return `- ${type}${toOneLine(entry.filename)} (${new Date(time).toISOString()})${tail}`
}
