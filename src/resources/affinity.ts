import { readChoice } from './choice.ts'
import { isIntegerIn } from './port.ts'
import type { Reader } from './reader.ts'

const AFFINITIES = ['None', 'ClientIP'] as const
export const DEFAULT_AFFINITY_SECONDS = 10_800
const MAX_AFFINITY_SECONDS = 86_400

/** Seconds that a client stays with its backend; undefined without affinity. */
export function readAffinity(spec: Reader): number | undefined {
  if (readChoice(spec, 'sessionAffinity', AFFINITIES) === 'None') return undefined
  const config = spec.object('sessionAffinityConfig').object('clientIP')
  const seconds = config.value('timeoutSeconds')
  if (isIntegerIn(seconds, 1, MAX_AFFINITY_SECONDS)) return seconds
  if (seconds !== undefined) {
    const instead = `${DEFAULT_AFFINITY_SECONDS} is used`
    config.refuse('timeoutSeconds', `must be from 1 to ${MAX_AFFINITY_SECONDS} seconds`, instead)
  }
  return DEFAULT_AFFINITY_SECONDS
}
