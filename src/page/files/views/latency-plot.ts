import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatMs } from '../display/format.ts'
import { type LatencyPoint, latencyColumns, percentile } from '../node/latency-series.ts'
import { watchTheme } from './theme.ts'

const HEIGHT = 320
const TIME = new Intl.DateTimeFormat('en', { timeStyle: 'short', hourCycle: 'h23' })
/** The library exports this number only as a type. */
const LOGARITHMIC = 3

/** Each change as a point: when it reached the kernel, and after how long. */
export function LatencyPlot({ points }: { readonly points: readonly LatencyPoint[] }) {
  const parent = useRef<HTMLDivElement>(null)
  const latest = useRef(points)
  const plot = useRef<uPlot | undefined>(undefined)
  latest.current = points
  useEffect(() => plot.current?.setData(latencyColumns(points)), [points])
  useEffect(() => {
    const { current } = parent
    if (current === null) return undefined
    const draw = (): void => {
      plot.current?.destroy()
      const options = plotOptions(current)
      plot.current = new uPlot(options, latencyColumns(latest.current), current)
    }
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: HEIGHT }),
    )
    draw()
    sizes.observe(current)
    const stop = watchTheme(draw)
    return () => {
      stop()
      sizes.disconnect()
      plot.current?.destroy()
    }
  }, [])
  return html`<figure class="plot">
    <div ref=${parent} role="img" aria-label=${plotWords(points)}></div>
    <figcaption>Milliseconds, on a logarithmic axis; one point for each change.</figcaption>
  </figure>`
}

function plotWords(points: readonly LatencyPoint[]): string {
  const [p50, p99] = [percentile(points, 0.5), percentile(points, 0.99)]
  return `Latency of ${points.length} changes over time: half of them within ${formatMs(p50)}, 99 % within ${formatMs(p99)}`
}

function plotOptions(parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent)
  const colour = (name: string) => style.getPropertyValue(name)
  const resolved = (name: string) => resolveColour(parent, colour(name))
  const axis = {
    stroke: resolved('--muted'),
    grid: { stroke: resolved('--line'), width: 1 },
    ticks: { stroke: resolved('--line'), width: 1, size: 4 },
    font: `12px ${style.fontFamily}`,
  }
  const series = (label: string, stroke: string, size: number): uPlot.Series => ({
    label,
    stroke,
    fill: stroke,
    paths: () => null,
    points: { show: true, size, width: 0 },
  })
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
    scales: { x: { time: true }, y: { distr: LOGARITHMIC, range: latencyRange } },
    axes: [
      { ...axis, size: 34, values: (_, splits) => splits.map((one) => TIME.format(one * 1_000)) },
      {
        ...axis,
        size: 64,
        grid: { ...axis.grid, filter: wholePowers },
        ticks: { ...axis.ticks, filter: wholePowers },
        filter: wholePowers,
        values: tickTexts,
      },
    ],
    series: [
      {},
      series('written', resolved('--accent'), 5),
      series('with a refusal', resolved('--bad'), 7),
    ],
  }
}

/** The range of the axis, extended to whole powers of ten. */
function latencyRange(_: uPlot, min: number | null, max: number | null): [number, number] {
  const low = 10 ** Math.floor(Math.log10(min ?? 1))
  const high = 10 ** Math.ceil(Math.log10(max ?? 10))
  return [low, high === low ? low * 10 : high]
}

/** Keeps only the splits at whole powers of ten, for lines and labels. */
function wholePowers(_: uPlot, splits: readonly number[]): (number | null)[] {
  return splits.map((ms) => (Number.isInteger(Math.log10(ms)) ? ms : null))
}

function tickTexts(_: uPlot, splits: readonly (number | null)[]): string[] {
  return splits.map((ms) => (ms === null ? '' : formatMs(ms)))
}

/** The colour of a CSS variable in the present theme, because a canvas cannot use variables. */
function resolveColour(parent: HTMLElement, colour: string): string {
  const probe = document.createElement('span')
  probe.style.color = colour
  parent.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
