import type { IpAddress } from '../../../lib/ip.ts'
import type { PlacedElement } from '../keys/digest.ts'
import { address } from '../keys/encode.ts'
import { SET } from '../keys/names.ts'

/** A ClusterIP: new connections to it are rejected on every port that no Service has there. */
export function clusterAddress(ip: IpAddress): readonly PlacedElement[] {
  return [{ set: SET.clusterAddresses, element: { key: address(ip) } }]
}
