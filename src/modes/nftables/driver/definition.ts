import type { FieldsOf } from '../../../settings/field.ts'
import { boolean, duration } from '../../../settings/scalar-types.ts'
import { deniedDriver } from '../../definition/denied-driver.ts'
import type { ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import { missingRules } from '../../netfilter/access.ts'
import { GAPS } from '../gaps.ts'
import { type NftablesConfiguration, nftablesDriver } from './nftables-driver.ts'

/** The settings of the nftables mode alone. */
const nftablesFields: FieldsOf<NftablesConfiguration> = {
  'nftables.masqueradeAll': {
    flag: 'nftables-masquerade-all',
    type: boolean,
    fallback: false,
    doc: 'Masquerade every packet to a ClusterIP in this mode, from any source; `iptables.masqueradeAll` does so in all modes.',
    reload: 'live',
  },
  'nftables.trafficCounters': {
    flag: 'nftables-traffic-counters',
    type: boolean,
    fallback: false,
    doc: 'Count packets and bytes of each Service, in both directions, as `nodeproxy_service_packets_total` and `nodeproxy_service_bytes_total`, and connections of each Service and endpoint. The kernel then looks up each packet of a Service once more.',
    reload: 'live',
  },
  'nftables.syncPeriod': {
    flag: 'nftables-sync-period',
    type: duration(1),
    fallback: 30_000,
    doc: 'How long a failed change waits at most for its next try. The daemon is unhealthy when a change is older than twice this.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'nftables.minSyncPeriod': {
    flag: 'nftables-min-sync-period',
    type: duration(),
    fallback: 0,
    doc: 'The shortest time between two changes of the kernel. The first change after a quiet time is made at once; after each one the daemon rests for half of what it took, so that 0 is safe.',
    reload: 'live',
    zeroIsUnset: true,
  },
}

/** The nftables mode. */
export const nftables: ModeDefinition<NftablesConfiguration> = {
  name: 'nftables',
  gaps: GAPS,
  fields: nftablesFields,
  kubeProxyDefaults: { nodePortAddresses: ['primary'] },
  periods: (config) => config.nftables,
  conflicts: () => [],
  requirements: (_config, access) => missingRules(access),
  createDriver,
  cleanup: () => [],
  guardsLoopback: async (clock) => (await import('./open-nftables.ts')).guardsLoopback(clock),
  cleanupRest: async (clock) => (await import('./open-nftables.ts')).cleanUpTables(clock),
}

/** The code that forwards is loaded when it is first needed. */
function createDriver({
  rights,
  netfilter,
  families,
  clock,
}: ModeHost): ModeDriver<NftablesConfiguration> {
  if (!rights.ok) return deniedDriver(nftables, rights.missing)
  const code = () => import('./open-nftables.ts')
  return nftablesDriver({
    families,
    iptables: netfilter,
    open: async () => (await code()).openRuntime(clock),
  })
}
