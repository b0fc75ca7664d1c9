const QUANTITY = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,18})?$/

/** RFC 3339 as typed clients read it: with capital letters and with an offset. */
const TIME =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Whether a value is a time. */
export function isTimeText(value: unknown): boolean {
  return fractionOf(value) !== undefined
}

/** Whether a value is a time with exactly six digits of the second's fraction. */
export function isMicroTimeText(value: unknown): boolean {
  return fractionOf(value)?.length === 6
}

/** The digits of the fraction; undefined: the value is not a time. */
function fractionOf(value: unknown): string | undefined {
  const [, day = '', fraction = ''] = (typeof value === 'string' && TIME.exec(value)) || []
  return isDay(day) ? fraction : undefined
}

function isDay(text: string): boolean {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** Whether a value is a decimal number with an optional suffix, such as `500m`, `1.5Gi` or `1e3`. */
export function isQuantityText(value: unknown): boolean {
  return typeof value === 'string' && QUANTITY.test(value)
}
