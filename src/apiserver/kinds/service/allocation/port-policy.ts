import { formatPortRange, type PortRange } from '../../../../lib/port-range.ts'
import type { AllocationPool } from '../../../allocation/allocation-pool.ts'
import { PORT_BAND, staticBand } from '../../../allocation/static-band.ts'

/** Where Services get node ports from. */
export interface PortPolicy {
  readonly range: PortRange
  readonly pool: AllocationPool
}

/** A free number of the range at random; 0 when there is none. */
export function choosePort(
  { range, pool }: PortPolicy,
  isFree: (number: number) => boolean,
): number {
  const { first, last } = range
  const size = last - first + 1
  const index = pool.choose(size, (one) => isFree(first + one), staticBand(size, PORT_BAND))
  return index === undefined ? 0 : first + index
}

/** Why a new node port cannot be had; 0: none was found. */
export function portProblem(number: number, range: PortRange): string | undefined {
  if (number === 0) return `no port of the range ${formatPortRange(range)} is free`
  if (number >= range.first && number <= range.last) return undefined
  return `provided port is not in the valid range. The range of valid ports is ${formatPortRange(range)}`
}
