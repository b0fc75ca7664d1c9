import type { Cidr } from '../lib/ip.ts'
import { readCidrs } from './address.ts'
import { decode, UNUSABLE } from './decode.ts'
import { readMetadata } from './metadata.ts'
import type { Decoded } from './problem.ts'

/** networking.k8s.io/v1 ServiceCIDR: the networks from which ClusterIPs are taken. */
export function decodeServiceCIDR(raw: unknown): Decoded<readonly Cidr[]> {
  return decode(raw, (object) => {
    const metadata = readMetadata(object, { namespaced: false, name: 'subdomain' })
    return metadata === undefined ? UNUSABLE : readCidrs(object.object('spec'), 'cidrs')
  })
}
