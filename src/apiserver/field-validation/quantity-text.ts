const QUANTITY = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,18})?$/

/** Whether a value is a decimal number with an optional suffix, such as `500m`, `1.5Gi` or `1e3`. */
export function isQuantityText(value: unknown): boolean {
  return typeof value === 'string' && QUANTITY.test(value)
}
