import type { Cidr, IpAddress } from '../lib/ip.ts'
import { readAddress, readCidr, readCidrs } from './address.ts'
import { decode, UNUSABLE } from './decode.ts'
import { firstPresent, type Metadata, readMetadata } from './metadata.ts'
import { NAMES } from './names.ts'
import { readNodeName } from './node-name.ts'
import type { Decoded } from './problem.ts'
import { present, type Reader } from './reader.ts'
import type { Node } from './types.ts'

const AUTOSCALER_TAINT = 'ToBeDeletedByClusterAutoscaler'

/** v1 Node: the fields that the proxy on that node needs. */
export function decodeNode(raw: unknown): Decoded<Node> {
  return decode(raw, readNode)
}

/** Reads a Node; `UNUSABLE`, with a finding, for one without a valid name. */
export function readNode(object: Reader): Node | typeof UNUSABLE {
  const metadata = readMetadata(object, { namespaced: false, name: 'subdomain' })
  if (metadata === undefined) return UNUSABLE
  const spec = object.object('spec')
  const addresses = object.object('status').objects('addresses')
  return {
    name: metadata.name,
    zone: readZone(metadata),
    addresses: [
      ...addressesOfType(addresses, 'InternalIP'),
      ...addressesOfType(addresses, 'ExternalIP'),
    ],
    podCIDRs: readPodCIDRs(spec),
    leaving: isLeaving(object.object('metadata'), spec),
    ...(firstPresent(metadata.labels, NAMES.excluded) !== undefined && {
      excludedFromLoadBalancers: true,
    }),
  }
}

/** The first label with a zone. */
function readZone({ labels }: Metadata): string | undefined {
  for (const name of NAMES.zone) {
    const zone = readNodeName(labels, name)
    if (zone !== '') return zone
  }
  return undefined
}

/** Special addresses, such as loopback, are kept as the node reports them. */
function addressesOfType(
  addresses: readonly Reader[],
  type: 'InternalIP' | 'ExternalIP',
): readonly IpAddress[] {
  return addresses.flatMap((address) => {
    if (address.value('type') !== type) return []
    const ip = readAddress(address.value('address'), 'any', (wrong, instead) => {
      address.refuse('address', wrong, instead)
    })
    return ip ?? []
  })
}

/** `podCIDRs`, or the one `podCIDR` of old servers. */
function readPodCIDRs(spec: Reader): readonly Cidr[] {
  if (spec.list('podCIDRs').length > 0) return readCidrs(spec, 'podCIDRs')
  const value = spec.value('podCIDR')
  if (value === undefined || value === '') return present([])
  return present([readCidr(value, (wrong, instead) => spec.refuse('podCIDR', wrong, instead))])
}

function isLeaving(metadata: Reader, spec: Reader): boolean {
  if (metadata.value('deletionTimestamp') !== undefined) return true
  return spec.objects('taints').some((taint) => taint.value('key') === AUTOSCALER_TAINT)
}
