import { parseDuration } from '../../lib/duration.ts'

/** Seconds of the units that durations of Go do not have. A year has 365 days. */
const DAYS: Readonly<Record<string, number>> = { d: 86_400, w: 7 * 86_400, y: 365 * 86_400 }

/** Seconds of a duration as Go writes it, also with whole days, weeks and years first: `24h`, `30d`, `1y6h`. */
export function parseLifetime(text: string): number | undefined {
  const [, long = '', rest = ''] = /^((?:\d{1,5}[dwy])*)(.*)$/su.exec(text) ?? []
  const days = [...long.matchAll(/(\d+)([dwy])/g)]
  const seconds = days.reduce((sum, [, count, unit]) => {
    return sum + Number(count) * (DAYS[unit ?? ''] ?? 0)
  }, 0)
  if (rest === '') return days.length === 0 || seconds === 0 ? undefined : seconds
  const ms = parseDuration(rest)
  if (ms === undefined) return undefined
  const total = seconds + Math.floor(ms / 1_000)
  return total > 0 ? total : undefined
}
