import { median, spread } from './statistics.ts'

/** How figures look in tables. */

export function count(value: number): string {
  return value.toLocaleString('en-US')
}

export function map<T>(value: T | undefined, show: (value: T) => string): string | undefined {
  return value === undefined ? undefined : show(value)
}

export function seconds(samples: readonly number[]): string {
  return spread(
    samples.map((each) => each / 1_000),
    2,
  )
}

export function fixed(samples: readonly number[]): string {
  return median(samples).toFixed(2)
}

export function milliseconds(cpuSeconds: number): string {
  return (cpuSeconds * 1_000).toFixed(1)
}

export function ratio(ours: number, theirs: number): string {
  return Number.isFinite(ours / theirs) ? (ours / theirs).toFixed(2) : '–'
}

/** MiB; a dash for a program that ended between two samples and was never seen. */
export function mib(kib: number): string {
  return kib === 0 ? '–' : (kib / 1_024).toFixed(0)
}
