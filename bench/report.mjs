/**
 * What all benchmarks share: the shape of a row and how it is printed.
 */
import { pathToFileURL } from 'node:url'

/**
 * @typedef {{ name: string, value: number, unit: string, limit?: number, ratio?: number,
 *   detail?: string, passed: boolean }} BenchRow
 */

/** @param {number[]} values */
export function median(values) {
  return percentile(values, 0.5)
}

/**
 * @param {number[]} values at least one.
 * @param {number} share from 0 to 1.
 */
export function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/** Whether a module was started by itself. */
export function isMainModule(url) {
  return process.argv[1] !== undefined && url === pathToFileURL(process.argv[1]).href
}

/** @param {BenchRow} row */
export function formatRow({ name, value, unit, limit, detail, passed }) {
  const verdict = passed ? 'ok  ' : 'OVER'
  const bound = limit === undefined ? '' : ` (limit ${round(limit)})`
  const more = detail === undefined ? '' : `; ${detail}`
  return `${verdict} ${name}: ${round(value)} ${unit}${bound}${more}`
}

function round(value) {
  return Number(value.toFixed(value < 10 ? 2 : 1))
}

/**
 * Print rows; the process exits with 1 when one is over its limit.
 * @param {BenchRow[]} rows
 */
export function printRows(rows) {
  for (const row of rows) console.log(formatRow(row))
  if (rows.some(({ passed }) => !passed)) process.exitCode = 1
}
