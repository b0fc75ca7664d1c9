import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/**
 * 400 for a Pod that connections must not lead to: one in the network of its node, or whose
 * addresses are none, loopback, link-local or those of this server. A status is what a client wrote, so it is
 * looked at for each connection.
 */
export function undialable(
  pod: JsonObject,
  ownAddresses: readonly IpAddress[],
): StatusError | undefined {
  const name = JSON.stringify(stringAt(pod, 'metadata', 'name'))
  if (stringAt(pod, 'status', 'phase') !== 'Running') {
    return badRequest(`unable to forward ports because pod ${name} is not running`)
  }
  if ((pod['spec'] as JsonObject)['hostNetwork'] === true) {
    return badRequest(`ports of pod ${name} are not forwarded: it has the network of its node`)
  }
  const podIPs = arrayAt(pod, 'status', 'podIPs').map((one) => stringAt(one, 'ip'))
  const texts = podIPs.length > 0 ? podIPs : [stringAt(pod, 'status', 'podIP')]
  const isFine = texts.every((text) => {
    const ip = parseIp(text)
    return ip !== undefined && !isSpecialAddress(ip) && !ownAddresses.includes(ip)
  })
  if (isFine) return undefined
  return badRequest(`ports of pod ${name} are not forwarded: its addresses are not those of a pod`)
}
