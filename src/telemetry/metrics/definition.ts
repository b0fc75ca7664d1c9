/** One metric as it is exported; `name` comes after the prefix of its program, such as `nodeproxy_`. */
export interface MetricDefinition {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  /** One sentence or two; ends with a full stop. */
  readonly help: string
  /** Upper bounds, of histograms only. */
  readonly buckets?: readonly number[]
}

/** `count` bounds from `start`, each `factor` times the one before. */
export function exponential(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(6)))
}
