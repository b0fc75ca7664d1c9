import { addressType } from '../../dns/zone/address-record.ts'
import { isPortQueried, portQuery } from '../../dns/zone/port-query.ts'
import type { Service } from '../../resources/types.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import type { EndpointFact } from './endpoint-facts.ts'
import { labelOf } from './origin.ts'
import type { QueryType } from './question.ts'

/** Why a name such as `_http._tcp.web.shop` has no addresses. */
export const PORT_TYPES = 'names of ports have records of type SRV alone'

/** Endpoints that are listed in a sentence. */
const SHOWN = 5

/** Why a headless Service has no records of a type at its name, or at one below it. */
export function explainHeadless(
  service: Service,
  below: readonly string[],
  type: QueryType,
  objects: ClusterObjects,
): string {
  const all = objects.factsOf(service.key)
  const named = all.filter(({ isReady }) => isReady || service.publishNotReadyAddresses)
  const who = `headless Service ${service.key}`
  if (named.length === 0) return explainNone(who, all)
  const queried = portQuery(below)
  if (queried !== undefined && (below.length > 0 || type === 'SRV')) {
    const hasPort = service.ports.some((port) => isPortQueried(port, queried))
    return type !== 'SRV' && hasPort ? PORT_TYPES : `${who} has no endpoint with such a port`
  }
  const [label, ...rest] = below
  if (rest.length > 0) return `${who} has names of one label below it`
  const matching = label === undefined ? named : named.filter((one) => labelOf(one) === label)
  if (matching.length === 0) return explainLabel(who, label ?? '', all, named)
  if (type !== 'A' && type !== 'AAAA') return `${who} has records of A, AAAA and SRV alone`
  const addresses = matching.filter(({ ip }) => addressType(ip) !== type)
  const family = type === 'A' ? 'IPv4' : 'IPv6'
  return `${who} has no endpoint with an ${family} address; it has ${listed(addresses)}`
}

function explainNone(who: string, all: readonly EndpointFact[]): string {
  if (all.length === 0)
    return `${who} has no endpoints: no Pod matches its selector, or none has an address`
  return `${who} has no ready endpoint, and publishNotReadyAddresses is not set; not ready: ${listed(all)}`
}

function explainLabel(
  who: string,
  label: string,
  all: readonly EndpointFact[],
  named: readonly EndpointFact[],
): string {
  const asleep = all.find((one) => !one.isReady && labelOf(one) === label)
  if (asleep !== undefined) {
    return `the endpoint ${label} of ${who} is not ready: ${listed([asleep])}; publishNotReadyAddresses is not set`
  }
  const labels = [...new Set(named.map(labelOf))]
  const more = labels.length > SHOWN ? ` and ${labels.length - SHOWN} more` : ''
  return `${who} has no endpoint named ${label}; it has ${labels.slice(0, SHOWN).join(', ')}${more}`
}

/** `10.0.0.7 (Pod shop/db-0, terminating)` */
function listed(facts: readonly EndpointFact[]): string {
  const texts = facts.slice(0, SHOWN).map(({ ip, pod, isTerminating }) => {
    const words = [pod === '' ? '' : `Pod ${pod}`, isTerminating ? 'terminating' : '']
    const inside = words.filter((word) => word !== '').join(', ')
    return inside === '' ? ip : `${ip} (${inside})`
  })
  const more = facts.length - SHOWN
  return `${texts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
