/**
 * A histogram in plain numbers, for what happens so often that a label set looked up for each observation would cost
 * too much. `histogramText` is its text for Prometheus.
 */
export class CountedHistogram {
  readonly bounds: readonly number[]
  /** Observations up to each bound and above the one before; the last number is those above all. */
  readonly counts: number[]
  sum = 0

  /** `bounds` ascend. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    const { bounds, counts } = this
    let index = 0
    while (index < bounds.length && value > bounds[index]!) index += 1
    counts[index]! += 1
    this.sum += value
  }
}

export interface HistogramRows {
  /** With its prefix. */
  readonly name: string
  readonly help: string
  /** The one label, and a histogram for each of its values; they are written as they are. */
  readonly label: string
  readonly rows: Readonly<Record<string, CountedHistogram>>
}

/** The Prometheus text format of histograms that differ in one label. */
export function histogramText({ name, help, label, rows }: HistogramRows): string {
  const lines = Object.entries(rows).flatMap(([value, histogram]) => {
    const own = `${label}="${value}"`
    let total = 0
    const buckets = histogram.counts.map((count, index) => {
      total += count
      return `${name}_bucket{${own},le="${histogram.bounds[index] ?? '+Inf'}"} ${total}`
    })
    return [...buckets, `${name}_sum{${own}} ${histogram.sum}`, `${name}_count{${own}} ${total}`]
  })
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}
