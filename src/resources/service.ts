import type { Cidr, IpAddress } from '../lib/ip.ts'
import { readAddresses, readCidrs } from './address.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import { NAMES, named } from './names.ts'
import { readOptionalPort, readPort, readPortName, readProtocol } from './port.ts'
import { type Decoded, Findings } from './problem.ts'
import { child, isRaw, list, own, type Raw } from './raw.ts'
import { choice } from './choice.ts'
import type { Service, ServiceKey, ServicePort } from './types.ts'

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
const POLICIES = ['Cluster', 'Local'] as const
const AFFINITIES = ['None', 'ClientIP'] as const
const DEFAULT_AFFINITY_SECONDS = 10_800
const LONGEST_AFFINITY_SECONDS = 86_400

/**
 * v1 Service. Only an object that cannot be identified is refused as a whole; a
 * port, address or value that is wrong is left out with a warning.
 */
export function decodeService(raw: unknown): Decoded<Service> {
  const findings = new Findings()
  const metadata = readMetadata(raw, { namespaced: true, name: 'label' }, findings)
  if (metadata === undefined || !isRaw(raw)) return { ok: false, problems: findings.all }
  const spec = child(raw, 'spec')
  const type = choice(own(spec, 'type'), TYPES, { field: 'spec.type', findings })
  const value: Service = {
    key: `${metadata.namespace}/${metadata.name}` as ServiceKey,
    uid: metadata.uid,
    type,
    clusterIPs: type === 'ExternalName' ? [] : readClusterIPs(spec, findings),
    ports: readPorts(spec, findings),
    externalIPs: readAddresses(list(spec, 'externalIPs'), 'spec.externalIPs', findings),
    loadBalancerIPs: readIngress(raw, findings),
    loadBalancerSourceRanges: readSourceRanges(spec, metadata, findings),
    externalTrafficPolicy: policy(spec, 'externalTrafficPolicy', findings),
    internalTrafficPolicy: policy(spec, 'internalTrafficPolicy', findings),
    healthCheckNodePort: readOptionalPort(
      own(spec, 'healthCheckNodePort'),
      'spec.healthCheckNodePort',
      findings,
    ),
    affinitySeconds: readAffinity(spec, findings),
    publishNotReadyAddresses: own(spec, 'publishNotReadyAddresses') === true,
    proxyName: named(metadata.labels, NAMES.proxyName),
    scheduler: named(metadata.annotations, NAMES.scheduler),
  }
  return { ok: true, value, warnings: findings.all }
}

/** `clusterIPs`, or the single `clusterIP` of old servers; `None` and empty mean none. */
function readClusterIPs(spec: Raw, findings: Findings): readonly IpAddress[] {
  const several = list(spec, 'clusterIPs')
  const field = several.length > 0 ? 'spec.clusterIPs' : 'spec.clusterIP'
  const values = several.length > 0 ? several : [own(spec, 'clusterIP')]
  const given = values.filter((value) => value !== undefined && value !== null && value !== '')
  if (given.includes('None')) return []
  return readAddresses(given, field, findings)
}

function readPorts(spec: Raw, findings: Findings): readonly ServicePort[] {
  return list(spec, 'ports').flatMap((raw, index) => {
    const port = readServicePort(raw, `spec.ports[${index}]`, findings)
    return port === undefined ? [] : [port]
  })
}

function readServicePort(
  raw: unknown,
  field: string,
  findings: Findings,
): ServicePort | undefined {
  if (!isRaw(raw)) {
    findings.add(field, raw, 'must be an object')
    return undefined
  }
  const name = readPortName(own(raw, 'name'), `${field}.name`, findings)
  const protocol = readProtocol(own(raw, 'protocol'), `${field}.protocol`, findings)
  const port = readPort(own(raw, 'port'), `${field}.port`, findings)
  const nodePort = readOptionalPort(own(raw, 'nodePort'), `${field}.nodePort`, findings)
  if (name === undefined || protocol === undefined || port === undefined) return undefined
  return { name, protocol, port, nodePort }
}

/** `ipMode: Proxy` says that the load balancer wants to see the packets itself. */
function readIngress(raw: Raw, findings: Findings): readonly IpAddress[] {
  const ingress = list(child(child(raw, 'status'), 'loadBalancer'), 'ingress')
  const captured = ingress.filter(isRaw).filter((item) => own(item, 'ipMode') !== 'Proxy')
  const ips = captured.map((item) => own(item, 'ip')).filter((ip) => ip !== undefined && ip !== '')
  return readAddresses(ips, 'status.loadBalancer.ingress.ip', findings)
}

/**
 * The field, else an annotation. A list that was given restricts even when
 * nothing in it can be read: then nobody is allowed, never everybody.
 */
function readSourceRanges(
  spec: Raw,
  { annotations }: Metadata,
  findings: Findings,
): readonly Cidr[] | undefined {
  const field = list(spec, 'loadBalancerSourceRanges')
  if (field.length > 0) return readCidrs(field, 'spec.loadBalancerSourceRanges', findings)
  const annotation = named(annotations, NAMES.sourceRanges)?.trim() ?? ''
  if (annotation === '') return undefined
  return readCidrs(annotation.split(','), `metadata.annotations[${NAMES.sourceRanges[0]}]`, findings)
}

function policy(
  spec: Raw,
  name: 'externalTrafficPolicy' | 'internalTrafficPolicy',
  findings: Findings,
) {
  return choice(own(spec, name), POLICIES, { field: `spec.${name}`, findings })
}

function readAffinity(spec: Raw, findings: Findings): number | undefined {
  const where = { field: 'spec.sessionAffinity', findings }
  if (choice(own(spec, 'sessionAffinity'), AFFINITIES, where) === 'None') return undefined
  const config = child(child(spec, 'sessionAffinityConfig'), 'clientIP')
  const seconds = own(config, 'timeoutSeconds')
  if (seconds === undefined || seconds === null) return DEFAULT_AFFINITY_SECONDS
  if (isWholeNumber(seconds) && seconds >= 1 && seconds <= LONGEST_AFFINITY_SECONDS) return seconds
  findings.add(
    'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
    seconds,
    `must be an integer from 1 to ${LONGEST_AFFINITY_SECONDS}; ${DEFAULT_AFFINITY_SECONDS} is used`,
  )
  return DEFAULT_AFFINITY_SECONDS
}

function isWholeNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value)
}
