const MILLISECONDS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}

const DURATION = /^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+$/
const PART = /([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)/g

/**
 * Milliseconds of a duration as Go and Kubernetes write it (`30s`, `1h2m`,
 * `250ms`, `1.5h`, `0`), or undefined. Rounded to whole microseconds; never negative.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (text.length > 64 || !DURATION.test(text)) return undefined
  let sum = 0
  for (const [, amount, unit] of text.matchAll(PART)) {
    sum += Number(amount) * (MILLISECONDS[unit ?? ''] ?? Number.NaN)
  }
  const rounded = Math.round(sum * 1_000) / 1_000
  return rounded <= Number.MAX_SAFE_INTEGER / 1_000 ? rounded : undefined
}

/** A text that `parseDuration` reads back as the same time, with whole numbers, the largest unit first: `1h2m`, `0s`. */
export function formatDuration(ms: number): string {
  let rest = Math.round(ms * 1_000)
  const parts: string[] = []
  for (const [unit, size] of [
    ['h', 3_600_000_000],
    ['m', 60_000_000],
    ['s', 1_000_000],
    ['ms', 1_000],
    ['us', 1],
  ] as const) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count}${unit}`)
  }
  return parts.join('') || '0s'
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** At most two significant units: `45s`, `3m20s`, `5h`, `2d3h`, `400d`. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 2 * MINUTE) return `${whole}s`
  if (whole < 10 * MINUTE) return pair(whole, [MINUTE, 'm'], [1, 's'])
  if (whole < 3 * HOUR) return `${Math.floor(whole / MINUTE)}m`
  if (whole < 8 * HOUR) return pair(whole, [HOUR, 'h'], [MINUTE, 'm'])
  if (whole < 2 * DAY) return `${Math.floor(whole / HOUR)}h`
  if (whole < 8 * DAY) return pair(whole, [DAY, 'd'], [HOUR, 'h'])
  return `${Math.floor(whole / DAY)}d`
}

type Unit = readonly [seconds: number, suffix: string]

function pair(whole: number, large: Unit, small: Unit): string {
  const rest = Math.floor((whole % large[0]) / small[0])
  const head = `${Math.floor(whole / large[0])}${large[1]}`
  return rest === 0 ? head : `${head}${rest}${small[1]}`
}

/** A time in milliseconds since the epoch as the API writes it: RFC 3339 in UTC, to the second. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}
