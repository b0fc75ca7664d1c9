import { arrayAt, type JsonObject, stringAt } from '../../../../lib/json.ts'
import { parseLegacyIp } from '../../../../lib/legacy-address.ts'
import type { ObjectReader } from '../../../resource/resource.ts'
import { invalidValue } from '../../../status/causes.ts'
import type { StatusCause } from '../../../status/status.ts'
import { nodes } from '../../node/resource.ts'
import { type CapturedAddress, newlyCaptured } from './captured-addresses.ts'

const WARNING =
  'spec.externalIPs: every node captures these addresses, so every client that may write a Service can take the traffic of others; use a Service of type LoadBalancer instead'

/** The warning to the author of a Service that captures new addresses by `externalIPs`. */
export function captureWarnings(next: JsonObject, old: JsonObject | undefined): readonly string[] {
  return newExternalIPs(next, old).length === 0 ? [] : [WARNING]
}

/**
 * No Service may capture a node's own address as an externalIP: it would take the ports that the
 * node serves itself. The address of a load balancer may be a node's.
 */
export function nodeCapture(
  objects: ObjectReader,
  next: JsonObject,
  old: JsonObject | undefined,
): StatusCause | undefined {
  const external = newExternalIPs(next, old)
  if (external.length === 0) return undefined
  const own = new Set([...objects.list(nodes, '')].flatMap(addressesOf))
  const taken = external.find(({ text }) => own.has(text))
  if (taken === undefined) return undefined
  return invalidValue(taken.field, taken.text, "must not be a node's own address")
}

/** The newly captured addresses that the author names, and no load balancer. */
function newExternalIPs(next: JsonObject, old: JsonObject | undefined): readonly CapturedAddress[] {
  return newlyCaptured(next, old).filter(({ field }) => field.startsWith('spec.'))
}

function addressesOf(node: JsonObject): readonly string[] {
  const addresses = arrayAt(node, 'status', 'addresses')
  return addresses.flatMap((one) => parseLegacyIp(stringAt(one, 'address')) ?? [])
}
