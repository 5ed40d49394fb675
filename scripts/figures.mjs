/**
 * Puts the figures of a benchmark run into `docs/performance.md` and draws its chart.
 *
 * Only what stands between the two marks is replaced; the words around it are written by hand.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { lineChart } from '../bench/chart.mjs'
import { repositoryRoot } from './ensure-installed.mjs'

const DOCUMENT = join(repositoryRoot, 'docs', 'performance.md')
const CHART = join(repositoryRoot, 'docs', 'images', 'save-cost.svg')
const BLOCK = /<!-- figures -->[\s\S]*<!-- \/figures -->/

/**
 * @param {readonly import('../bench/report.mjs').BenchRow[]} rows of all benchmarks of one run.
 * @returns {string[]} the paths that were written.
 * @throws {Error} when the document has no marks.
 */
export function writeFigures(rows) {
  const document = readFileSync(DOCUMENT, 'utf8')
  if (!BLOCK.test(document)) throw new Error(`${DOCUMENT} has no block of figures`)
  const block = ['<!-- figures -->', machine(), '', ...table(rows), '<!-- /figures -->'].join('\n')
  writeFileSync(
    DOCUMENT,
    document.replace(BLOCK, () => block),
  )
  const growth = rows.flatMap((row) => ('growth' in row ? [row.growth] : []))
  if (growth.length === 0) return [DOCUMENT]
  mkdirSync(dirname(CHART), { recursive: true })
  writeFileSync(CHART, chartOf(growth))
  return [DOCUMENT, CHART]
}

function machine() {
  return `Measured with Node ${process.versions.node} on ${platform()} ${arch()} with ${availableParallelism()} cores.`
}

function table(rows) {
  const cells = rows.map(({ name, value, unit, limit, detail }) => {
    const bound = limit === undefined ? '' : `${rounded(limit)} ${unit}`
    return `| ${name} | ${rounded(value)} ${unit} | ${bound} | ${detail ?? ''} |`
  })
  return ['| what | figure | limit | behind it |', '| --- | --- | --- | --- |', ...cells]
}

function rounded(value) {
  return Number(value.toFixed(value < 10 ? 2 : 1)).toLocaleString('en-US')
}

function chartOf(growth) {
  const seriesOf = (name, side) => ({
    name,
    points: growth.map((point) => [point.lines, point[side]]),
  })
  return lineChart({
    title: 'Time of one save against the size of the index',
    xLabel: 'lines in the index',
    yLabel: 'median time of a save (ms)',
    series: [
      seriesOf('this package', 'ours'),
      seriesOf('bare durable calls', 'bare'),
      seriesOf('naive packages', 'naive'),
    ],
  })
}
