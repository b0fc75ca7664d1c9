import type { Family } from '../lib/ip.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import type { Endpoint, EndpointSource, Service, ServicePort } from '../resources/types.ts'
import { type Backend, compareText, type RejectedFrontend } from './entry.ts'

/** An endpoint, and the resulting backend for one Service port. */
export interface Candidate {
  readonly backend: Backend
  readonly endpoint: Endpoint
}

/** The endpoints of a Service for one port and family. */
export interface Candidates {
  /** Sorted by ip and port, each ip:port once. */
  readonly all: readonly Candidate[]
  /** Endpoints whose address must not get traffic. */
  readonly refused: readonly RejectedFrontend[]
}

/**
 * Merges the sources of a Service for one port and family. Ports are matched by
 * name and protocol within each group, so that two slices may give one name
 * different numbers. Of several endpoints with one ip:port the best condition
 * wins: not terminating, then ready, serving, local; then the first source by name.
 */
export function collectCandidates(
  sources: readonly EndpointSource[],
  port: Pick<ServicePort, 'name' | 'protocol'>,
  family: Family,
  nodeName: string,
): Candidates {
  const found: Candidate[] = []
  const refused: RejectedFrontend[] = []
  for (const source of sortedByName(sources)) {
    for (const group of source.groups) {
      if (group.family !== family) continue
      for (const { name, protocol, port: number } of group.ports) {
        if (name !== port.name || protocol !== port.protocol) continue
        for (const endpoint of group.endpoints) {
          if (isSpecialAddress(endpoint.ip)) refused.push(specialEndpoint(endpoint, number))
          else found.push(candidate(endpoint, number, nodeName))
        }
      }
    }
  }
  return { all: withoutDuplicates(found), refused }
}

/** The order of backends in an entry: by ip as text, then by port. */
export function compareBackends(a: Backend, b: Backend): number {
  return compareText(a.ip, b.ip) || a.port - b.port
}

function sortedByName(sources: readonly EndpointSource[]): readonly EndpointSource[] {
  return sources.length < 2 ? sources : sources.toSorted((a, b) => compareText(a.name, b.name))
}

function candidate(endpoint: Endpoint, port: number, nodeName: string): Candidate {
  const { ip, weight } = endpoint
  const local = endpoint.nodeName !== '' && endpoint.nodeName === nodeName
  return { backend: { ip, port, weight, local }, endpoint }
}

function withoutDuplicates(found: Candidate[]): readonly Candidate[] {
  found.sort((a, b) => compareBackends(a.backend, b.backend) || rank(b) - rank(a))
  return found.filter((one, index) => {
    const previous = found[index - 1]
    return previous === undefined || compareBackends(previous.backend, one.backend) !== 0
  })
}

function rank({ backend, endpoint }: Candidate): number {
  const { terminating, ready, serving } = endpoint
  return (terminating ? 0 : 8) + (ready ? 4 : 0) + (serving ? 2 : 0) + (backend.local ? 1 : 0)
}

function specialEndpoint({ ip }: Endpoint, port: number): RejectedFrontend {
  const message = `endpoint ${ip} is an unspecified, loopback, link-local, multicast or broadcast address and gets no traffic; use the address of a Pod or host`
  return { kind: 'endpoint', ip, port, code: 'NP_FORWARDING_SPECIAL_ADDRESS', message }
}

/**
 * Whether new connections may go to an endpoint. `publishNotReadyAddresses` makes every endpoint ready that is not
 * terminating. An endpoint that is both ready and terminating also counts, because the controller that wrote the slice
 * sets both for such Services only.
 */
export function isReady(
  endpoint: Endpoint,
  service: Pick<Service, 'publishNotReadyAddresses'>,
): boolean {
  return endpoint.ready || (service.publishNotReadyAddresses && !endpoint.terminating)
}
