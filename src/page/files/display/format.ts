const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
const AGES: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

/** Shown instead of an unknown value. */
export const NOTHING = '–'

/** 12345 is 12,345. */
export function formatCount(count: number | undefined): string {
  return count === undefined ? NOTHING : COUNT.format(count)
}

/** 1 is "1 Service", 12345 is "12,345 Services". */
export function formatCountOf(count: number, name: string): string {
  return `${COUNT.format(count)} ${count === 1 ? name : `${name}s`}`
}

/** How many of the Services are shown: 3 of 12,345 Services. `all`: undefined before they are read. */
export function formatShown(name: string, shown: number, all: number | undefined): string {
  if (all === undefined) return `Reading the ${name}s…`
  return shown === all
    ? formatCountOf(all, name)
    : `${formatCount(shown)} of ${formatCountOf(all, name)}`
}

/** 12345 is 12.3K. */
export function formatShort(count: number | undefined): string {
  return count === undefined ? NOTHING : SHORT.format(count)
}

/** 1536 is 1.5 KiB. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined) return NOTHING
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 2 ** (10 * power)
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toPrecision(value >= 10 ? 3 : 2)} ${UNITS[power]}`
}

/** A number per second. */
export function formatRate(rate: number | undefined): string {
  if (rate === undefined) return NOTHING
  return rate === 0 ? '0' : rate < 10 ? rate.toFixed(1) : formatShort(rate)
}

/** 1234 is 1.23 s. */
export function formatMs(ms: number | undefined): string {
  if (ms === undefined) return NOTHING
  if (ms >= 1_000) return `${Number((ms / 1_000).toPrecision(3))} s`
  return `${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`
}

/** How long something takes or has taken: 3 h 5 min. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const first = AGES.findIndex(([, size]) => seconds >= size)
  if (first === -1) return `${seconds} s`
  const [name = '', size = 1] = AGES[first] ?? []
  const [restName, restSize] = AGES[first + 1] ?? ['s', 1]
  const rest = Math.floor((seconds % size) / restSize)
  return `${Math.floor(seconds / size)} ${name}${rest === 0 ? '' : ` ${rest} ${restName}`}`
}

/** What is said of a node without problems. `waitingMs` is the time that its oldest change has waited. */
export function formatWell(waitingMs = '0'): string {
  const ms = Number(waitingMs)
  if (ms === 0) return 'Nothing is wrong: every change is in the kernel.'
  return `Nothing is wrong. A change has waited for the kernel for ${formatAge(ms)}.`
}

/** 0.335 is 34 %. */
export function formatShare(share: number): string {
  const percent = share * 100
  return `${percent >= 10 || percent === 0 ? Math.round(percent) : Number(percent.toPrecision(2))} %`
}

/** The address and port of one end. */
export function hostPort(ip: string, port: number | undefined): string {
  if (port === undefined || port === 0) return ip
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

/** The order of names as people count: node-9 comes before node-10. */
export const BY_NAME = new Intl.Collator('en', { numeric: true })
