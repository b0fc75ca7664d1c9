import { quote } from '../../../lib/quote.ts'
import type { Conditions } from '../../../telemetry/health/conditions.ts'
import { describeKey } from '../../allocation/allocation-keys.ts'
import type { Claim } from './audit.ts'

/** How many Services one message names. */
const MAX_NAMED = 10

const KINDS = {
  address: {
    reason: 'cluster-ips-outside-range',
    what: 'ClusterIPs',
    flag: '--service-cluster-ip-range',
  },
  port: {
    reason: 'node-ports-outside-range',
    what: 'node ports',
    flag: '--service-node-port-range',
  },
} as const

/**
 * Raises a condition for Services outside of the ranges, which an operator changed after their
 * allocation, and clears it when there are none.
 */
export function reportOutside(
  conditions: Pick<Conditions, 'raise' | 'clear'>,
  outside: readonly Claim[],
  ranges: Readonly<Record<keyof typeof KINDS, string>>,
): void {
  for (const kind of ['address', 'port'] as const) {
    const { reason, what, flag } = KINDS[kind]
    const held = outside.filter(({ key }) => describeKey(key).kind === kind)
    const names = [...new Set(held.map(({ holder }) => quote(nameOf(holder.key))))].toSorted()
    if (names.length === 0) {
      conditions.clear(reason)
      continue
    }
    const named = names.slice(0, MAX_NAMED).join(', ')
    const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
    const message = `${names.length} Services have ${what} outside of ${flag} ${ranges[kind]}: ${named}${more}; they are served as before, recreate them to give them others`
    conditions.raise(reason, { message, blocksReadiness: false })
  }
}

/** `namespace/name` of a storage key. */
function nameOf(key: string): string {
  return key.split('/').slice(2).join('/')
}
