const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

/** `3 days`, `2 hours`, `90 minutes`, `20 s`: a time between two moments in milliseconds, whichever comes first. */
export function spanText(ms: number): string {
  const span = Math.abs(ms)
  const [size, unit] = UNITS.find(([one]) => span >= 2 * one) ?? [1_000, 's']
  return `${Math.round(span / size)} ${unit}`
}
