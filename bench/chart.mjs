/**
 * A line chart as plain SVG.
 *
 * Role: `lineChart` turns series of points into the text of a file. Linear axes from zero, so that
 * a line that is twice as high is twice the cost. Colours are readable on light and dark ground.
 */

const WIDTH = 760
const HEIGHT = 420
const PLOT = { left: 70, right: 600, top: 50, bottom: 360 }
const TICKS = 5
const INK = '#7a7a7a'
const COLOURS = ['#1f7fd1', '#d9731a', '#2f9e5b', '#a05cc7']

/**
 * @typedef {{ name: string, points: readonly (readonly [x: number, y: number])[] }} Series
 * @param {{ title: string, xLabel: string, yLabel: string, series: readonly Series[] }} chart
 * units belong into the labels; values are not negative, and every series has a point.
 * @returns {string} the SVG, ended by a line break.
 */
export function lineChart({ title, xLabel, yLabel, series }) {
  const all = series.flatMap(({ points }) => points)
  const xTicks = ticksUpTo(Math.max(...all.map(([x]) => x)))
  const yTicks = ticksUpTo(Math.max(...all.map(([, y]) => y)))
  const toX = scale(xTicks.at(-1), PLOT.left, PLOT.right)
  const toY = scale(yTicks.at(-1), PLOT.bottom, PLOT.top)
  const middleX = (PLOT.left + PLOT.right) / 2
  const middleY = (PLOT.top + PLOT.bottom) / 2
  const parts = [
    text(middleX, 24, title, 'middle', 15),
    text(middleX, HEIGHT - 16, xLabel, 'middle'),
    text(18, middleY, yLabel, 'middle', 12, ` transform="rotate(-90 18 ${middleY})"`),
    ...xTicks.map((tick) => text(toX(tick), PLOT.bottom + 18, label(tick), 'middle')),
    ...yTicks.flatMap((tick) => [
      line([PLOT.left, toY(tick)], [PLOT.right, toY(tick)], tick === 0 ? 1 : 0.25),
      text(PLOT.left - 8, toY(tick) + 4, label(tick), 'end'),
    ]),
    line([PLOT.left, PLOT.top], [PLOT.left, PLOT.bottom], 1),
    ...series.flatMap((one, at) => drawSeries(one, at, toX, toY)),
  ]
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" font-family="sans-serif">`,
    `<title>${escaped(title)}</title>`,
    ...parts,
    '</svg>',
  ].join('\n')}\n`
}

/** The line, its points, and its row of the legend. */
function drawSeries({ name, points }, at, toX, toY) {
  const colour = COLOURS[at % COLOURS.length]
  const placed = points.map(([x, y]) => [round(toX(x)), round(toY(y))])
  const legendY = PLOT.top + 16 + at * 24
  return [
    `<polyline points="${placed.map((point) => point.join(',')).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...placed.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`),
    `<circle cx="${PLOT.right + 18}" cy="${legendY - 4}" r="5" fill="${colour}"/>`,
    text(PLOT.right + 30, legendY, name, 'start'),
  ]
}

function scale(most, from, to) {
  return (value) => from + (value / most) * (to - from)
}

/** Round numbers from 0 to at least `most`. */
function ticksUpTo(most) {
  const rough = (most || 1) / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough)
  return Array.from({ length: Math.ceil((most || 1) / step - 1e-9) + 1 }, (_, at) => at * step)
}

function label(value) {
  return Number(value.toPrecision(6)).toLocaleString('en-US')
}

function line([x1, y1], [x2, y2], opacity) {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${INK}" stroke-opacity="${opacity}"/>`
}

function text(x, y, content, anchor, size = 12, more = '') {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" font-size="${size}" fill="${INK}"${more}>${escaped(content)}</text>`
}

function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function round(value) {
  return Number(value.toFixed(1))
}
