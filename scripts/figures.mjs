/**
 * Puts the figures of a benchmark run into `docs/performance.md` and draws its chart, and the counts
 * of the proofs into `docs/durability.md`.
 *
 * Only what stands between the two marks is replaced; the words around it are written by hand.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { lineChart } from '../bench/chart.mjs'
import { repositoryRoot } from './ensure-installed.mjs'

const PERFORMANCE = join(repositoryRoot, 'docs', 'performance.md')
const DURABILITY = join(repositoryRoot, 'docs', 'durability.md')
const CHART = join(repositoryRoot, 'docs', 'images', 'save-cost.svg')

/**
 * @param {readonly import('../bench/report.mjs').BenchRow[]} rows of all benchmarks of one run.
 * @returns {string[]} the paths that were written.
 * @throws {Error} when the document has no marks.
 */
export function writeFigures(rows) {
  writeBlock(PERFORMANCE, 'figures', [`Measured with ${machine()}.`, '', ...table(rows)])
  const growth = rows.flatMap((row) => ('growth' in row ? [row.growth] : []))
  if (growth.length === 0) return [PERFORMANCE]
  mkdirSync(dirname(CHART), { recursive: true })
  writeFileSync(CHART, chartOf(growth))
  return [PERFORMANCE, CHART]
}

/**
 * @param {readonly string[]} lines `proof: what it counted`, of all proofs of one run.
 * @returns {string} the path that was written.
 * @throws {Error} when the document has no marks.
 */
export function writeProofs(lines) {
  const rows = lines.map((line) => {
    const [, name, counts] = /^([a-z-]+): (.*)$/.exec(line) ?? ['', '', line]
    return `| ${name} | ${counts} |`
  })
  const head = ['| proof | counted |', '| --- | --- |']
  writeBlock(DURABILITY, 'proofs', [`Counted with ${machine()}.`, '', ...head, ...rows])
  return DURABILITY
}

/** Replace what stands between the marks of a block. */
function writeBlock(path, name, lines) {
  const document = readFileSync(path, 'utf8')
  const block = new RegExp(`<!-- ${name} -->[^]*<!-- /${name} -->`)
  if (!block.test(document)) throw new Error(`${path} has no block of ${name}`)
  const fresh = [`<!-- ${name} -->`, ...lines, `<!-- /${name} -->`].join('\n')
  writeFileSync(
    path,
    document.replace(block, () => fresh),
  )
}

function machine() {
  return `Node ${process.versions.node} on ${platform()} ${arch()} with ${availableParallelism()} cores`
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
