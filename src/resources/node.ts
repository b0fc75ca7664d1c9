import { readAddress, readCidrs } from './address.ts'
import { readMetadata } from './metadata.ts'
import { NAMES, named } from './names.ts'
import { type Decoded, Findings } from './problem.ts'
import { child, isRaw, list, own, type Raw } from './raw.ts'
import type { Node } from './types.ts'

const AUTOSCALER_TAINT = 'ToBeDeletedByClusterAutoscaler'

/** v1 Node: what the proxy on that node needs to know of it. */
export function decodeNode(raw: unknown): Decoded<Node> {
  const findings = new Findings()
  const metadata = readMetadata(raw, { namespaced: false, name: 'subdomain' }, findings)
  if (metadata === undefined || !isRaw(raw)) return { ok: false, problems: findings.all }
  const spec = child(raw, 'spec')
  const several = list(spec, 'podCIDRs')
  const one = own(spec, 'podCIDR')
  const podCIDRs = several.length > 0 ? several : [one].filter((cidr) => typeof cidr === 'string')
  const addresses = list(child(raw, 'status'), 'addresses').filter(isRaw)
  const value: Node = {
    name: metadata.name,
    zone: named(metadata.labels, NAMES.zone),
    addresses: [
      ...addressesOfType(addresses, 'InternalIP', findings),
      ...addressesOfType(addresses, 'ExternalIP', findings),
    ],
    podCIDRs: readCidrs(podCIDRs.filter((cidr) => cidr !== ''), 'spec.podCIDRs', findings),
    leaving: own(child(raw, 'metadata'), 'deletionTimestamp') != null || isTainted(spec),
  }
  return { ok: true, value, warnings: findings.all }
}

function addressesOfType(addresses: readonly Raw[], type: string, findings: Findings) {
  return addresses
    .filter((address) => own(address, 'type') === type)
    .map((address) => readAddress(own(address, 'address'), `status.addresses[${type}]`, findings))
    .filter((ip) => ip !== undefined)
}

function isTainted(spec: Raw): boolean {
  return list(spec, 'taints').some((taint) => isRaw(taint) && own(taint, 'key') === AUTOSCALER_TAINT)
}
