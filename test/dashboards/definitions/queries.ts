/** Selects the series of the clusters that the reader chose. */
export const CLUSTER = 'cluster=~"$cluster"'
/** Selects the series of the instances that the reader chose. */
export const INSTANCE = `${CLUSTER},instance=~"$instance"`

/** How much a counter grows each second, by labels. `series`: `metric{selectors}`. */
export function rateBy(labels: string, series: string): string {
  return `sum by (${labels}) (rate(${series}[$__rate_interval]))`
}

/** A quantile of a histogram, by labels. `series`: `metric_bucket{selectors}`. */
export function quantileBy(quantile: number, labels: string, series: string): string {
  return `histogram_quantile(${quantile}, ${rateBy(`${labels}, le`, series)})`
}

/** The expression, and 0 for each instance that `present` has: what was never counted is absent otherwise. */
export function orZero(expr: string, present: string): string {
  return `${expr} or 0 * sum by (instance) (${present})`
}
