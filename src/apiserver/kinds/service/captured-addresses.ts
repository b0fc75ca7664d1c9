import { cidrContains, parseIp } from '../../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt } from '../../../lib/json.ts'
import { canonicalAddress } from '../../../lib/legacy-address.ts'
import type { AddressRange } from '../../allocation/address-range.ts'
import { invalidValue, type StatusCause } from '../../status/status.ts'

/** An external address that a Service makes every node capture, and the field that contains it. */
export interface CapturedAddress {
  readonly field: string
  readonly text: string
}

/** The captured addresses that a Service has now and did not have before. */
export function newlyCaptured(next: JsonObject, old: JsonObject | undefined) {
  const before = new Set(captured(old).map(({ text }) => text))
  return captured(next).filter(({ text }) => !before.has(text))
}

/** No Service may capture an address that is, or may become, the ClusterIP of another Service (CVE-2020-8554). */
export function clusterIPCapture(
  addresses: readonly CapturedAddress[],
  ranges: readonly AddressRange[],
): StatusCause | undefined {
  for (const { field, text } of addresses) {
    const ip = parseIp(text)
    const range = ranges.find(({ cidr }) => ip !== undefined && cidrContains(cidr, ip))
    if (range === undefined) continue
    return invalidValue(field, text, `must not be in the range of ClusterIPs, ${range.cidr}`)
  }
  return undefined
}

/**
 * Refuses new load balancer addresses while a Service cannot be read. Such an address is stored only in the
 * status of its Service, so it might belong to the unreadable one. ClusterIPs and node ports have their own
 * keys and are not affected. `unreadable`: the storage keys of unreadable Services.
 */
export function addressOfUnreadable(
  unreadable: Iterable<string>,
  next: JsonObject,
  old: JsonObject | undefined,
): StatusCause | undefined {
  const [holder] = unreadable
  if (holder === undefined) return undefined
  const added = newlyCaptured(next, old).find(({ field }) => field.startsWith('status.'))
  if (added === undefined) return undefined
  const why = `may belong to the Service at ${JSON.stringify(holder)}, which cannot be read; delete that one first`
  return invalidValue(added.field, added.text, why)
}

function captured(service: JsonObject | undefined): readonly CapturedAddress[] {
  const external = arrayAt(service, 'spec', 'externalIPs').map((ip, index) =>
    address(`spec.externalIPs[${index}]`, ip),
  )
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress').map((entry, index) =>
    address(`status.loadBalancer.ingress[${index}].ip`, stringAt(entry, 'ip')),
  )
  return [...external, ...ingress].filter(({ text }) => text !== '')
}

function address(field: string, ip: Json): CapturedAddress {
  const text = typeof ip === 'string' ? ip : ''
  return { field, text: canonicalAddress(text) }
}
