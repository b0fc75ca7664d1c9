import type { ClusterView } from '../../src/forwarding/node-context.ts'
import { cidr, clusterOf, ip } from '../../src/forwarding/testing/fixtures.ts'
import type { EndpointSource, Service, ServiceKey } from '../../src/resources/types.ts'
import type { Change, FlowConfig, RawEndpoint, RawService, RawSlice } from './flow-file.ts'

/** The objects of one configuration while its steps change them. */
export class World {
  #services: readonly RawService[]
  #slices: readonly RawSlice[]

  constructor({ services, endpointSlices }: FlowConfig) {
    this.#services = services
    this.#slices = endpointSlices
  }

  apply(change: Change): void {
    const gone = [...(change.deleteServices ?? []), ...(change.deleteEndpointSlices ?? [])]
    this.#services = this.#services
      .filter((one) => !gone.includes(nameOf(one)))
      .map((one) => changeService(one, change))
    this.#slices = this.#slices
      .filter((one) => !gone.includes(nameOf(one)))
      .map((one) => changeSlice(one, change))
  }

  cluster(): ClusterView {
    const served = this.#slices.filter(({ metadata }) => !(HEADLESS in metadata.labels))
    return clusterOf(this.#services.map(decodeService), served.map(decodeSlice))
  }

  keys(): readonly ServiceKey[] {
    return this.#services.map(nameOf)
  }
}

const HEADLESS = 'service.kubernetes.io/headless'
const PROXY_NAME = 'service.kubernetes.io/service-proxy-name'

function nameOf({ metadata }: RawService | RawSlice): ServiceKey {
  return `${metadata.namespace}/${metadata.name}` as ServiceKey
}

function changeService(raw: RawService, change: Change): RawService {
  const name = nameOf(raw)
  const labels = change.setServiceLabels?.[name]
  const sessionAffinity = change.setAffinity?.[name]
  const spec = {
    ...raw.spec,
    ...change.patchServiceSpec?.[name],
    ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
  }
  return {
    ...raw,
    spec,
    metadata: labels === undefined ? raw.metadata : { ...raw.metadata, labels },
  }
}

function changeSlice(raw: RawSlice, change: Change): RawSlice {
  if (change.deleteEndpointOf === 'affine' && nameOf(raw) === 'ns1/aff-1') {
    return { ...raw, endpoints: raw.endpoints.slice(1) }
  }
  const replacement = change.replaceEndpoints?.[nameOf(raw)]
  if (replacement === undefined) return raw
  const conditions = { ready: true, serving: true, terminating: false }
  return { ...raw, endpoints: replacement.map((address) => ({ addresses: [address], conditions })) }
}

function decodeService(raw: RawService): Service {
  const { spec, status, metadata } = raw
  const ingress = status?.loadBalancer.ingress ?? []
  const affinity = spec.sessionAffinity === 'ClientIP'
  return {
    key: nameOf(raw),
    uid: nameOf(raw),
    type: spec.type,
    clusterIPs: spec.clusterIPs.map(ip),
    ports: spec.ports.map((port) => ({ nodePort: 0, ...port })),
    externalIPs: (spec.externalIPs ?? []).map(ip),
    loadBalancerIPs: ingress.filter(({ ipMode }) => ipMode !== 'Proxy').map((one) => ip(one.ip)),
    loadBalancerSourceRanges: spec.loadBalancerSourceRanges?.map((range) => cidr(range.trim())),
    externalTrafficPolicy: spec.externalTrafficPolicy ?? 'Cluster',
    internalTrafficPolicy: spec.internalTrafficPolicy ?? 'Cluster',
    healthCheckNodePort: spec.healthCheckNodePort ?? 0,
    affinitySeconds: affinity
      ? (spec.sessionAffinityConfig?.clientIP.timeoutSeconds ?? 10800)
      : undefined,
    publishNotReadyAddresses: false,
    proxyName: metadata.labels?.[PROXY_NAME],
    scheduler: undefined,
    proxyProtocol: undefined,
  }
}

function decodeSlice(raw: RawSlice): EndpointSource {
  const { metadata, addressType, ports, endpoints } = raw
  return {
    name: nameOf(raw),
    service: `${metadata.namespace}/${metadata.labels['kubernetes.io/service-name']}` as ServiceKey,
    groups: [
      {
        family: addressType === 'IPv4' ? 4 : 6,
        ports,
        endpoints: endpoints.flatMap(decodeEndpoint),
      },
    ],
    triggeredAt: undefined,
  }
}

function decodeEndpoint({ addresses, conditions, nodeName, hints }: RawEndpoint) {
  return addresses.map((address) => ({
    ip: ip(address),
    nodeName: nodeName ?? '',
    ...conditions,
    zoneHints: hints?.forZones?.map(({ name }) => name),
    nodeHints: hints?.forNodes?.map(({ name }) => name),
    weight: 1,
  }))
}
