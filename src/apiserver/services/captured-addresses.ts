import { cidrContains, parseIp } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { canonicalAddress } from '../../lib/legacy-address.ts'
import { invalidValue } from '../status/causes.ts'
import type { StatusCause } from '../status/status.ts'
import type { AddressRange } from './address-range.ts'

/** An address from outside that a Service makes every node capture, and where it says so. */
export interface CapturedAddress {
  readonly field: string
  readonly text: string
}

/** The captured addresses that a Service has and had not before. */
export function newlyCaptured(next: JsonObject, old: JsonObject | undefined) {
  const before = new Set(captured(old).map(({ text }) => text))
  return captured(next).filter(({ text }) => !before.has(text))
}

/** Those of them that its author names, and no load balancer. */
export function newExternalIPs(next: JsonObject, old: JsonObject | undefined) {
  return newlyCaptured(next, old).filter(({ field }) => field.startsWith('spec.'))
}

/** Nobody may capture what is, or may become, another Service's ClusterIP (CVE-2020-8554). */
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
