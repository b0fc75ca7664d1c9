import { type Json, valueAt } from '../../../lib/json.ts'

/**
 * Settings that decide alike on all nodes what packets to a Service meet. Addresses, limits and files of a node are none,
 * nor is the mode, of which the one at work is compared.
 */
const SHARED = [
  'proxyName',
  'detectLocalMode',
  'detectLocal.bridgeInterface',
  'detectLocal.interfaceNamePrefix',
  'clusterCIDR',
  'allowedExternalIPs',
  'affinityScope',
  'iptables.masqueradeBit',
  'iptables.masqueradeAll',
  'nftables.masqueradeAll',
  'ipvs.scheduler',
] as const

/** Those of a configuration, as JSON by their paths. */
export function sharedSettings(config: Json): Readonly<Record<string, string>> {
  const settings = SHARED.map((path) => [path, valueAt(config, ...path.split('.'))] as const)
  return Object.fromEntries(
    settings.flatMap(([path, value]) =>
      value === undefined ? [] : [[path, JSON.stringify(value)]],
    ),
  )
}
