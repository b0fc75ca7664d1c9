import type { Json } from '../../../lib/json.ts'

/**
 * The number that a field such as `maxSurge` means for a workload of `total` Pods: itself, or for `25%` this share of
 * `total`, rounded. 0 for anything else.
 */
export function scaledValue(value: Json | undefined, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value
  const percent = typeof value === 'string' ? /^(\d+)%$/.exec(value)?.[1] : undefined
  if (percent === undefined) return 0
  const share = (Number(percent) * total) / 100
  return round === 'up' ? Math.ceil(share) : Math.floor(share)
}
