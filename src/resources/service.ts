import { type Cidr, type Family, familyOf, type IpAddress } from '../lib/ip.ts'
import { type Note, readAddress, readCidr, readCidrs, readHostAddresses } from './address.ts'
import { decode, UNUSABLE } from './decode.ts'
import { firstPresent, type Metadata, named, readMetadata } from './metadata.ts'
import { isDnsName, isLabelValue, isQualifiedName, NAMES } from './names.ts'
import { isIntegerIn, readAllocatedPort, readServicePorts } from './port.ts'
import type { Decoded } from './problem.ts'
import { present, type Reader } from './reader.ts'
import type { ProxyProtocol, Service, ServiceKey } from './types.ts'

const FIELD = 'loadBalancerSourceRanges'
const INSTEAD = 'it admits no client'

const LEFT_OUT = 'it is left out'

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
const POLICIES = ['Cluster', 'Local'] as const
const PROXY_PROTOCOLS = ['v1', 'v2'] as const
const SCHEDULER = /^[a-z]{1,15}$/
const MAX_UID_LENGTH = 128

/**
 * v1 Service. Only a Service that cannot be identified is refused as a whole; a port, an address or a value that is
 * wrong is left out or replaced, with a warning.
 */
export function decodeService(raw: unknown): Decoded<Service> {
  return decode(raw, readService)
}

/** Reads a Service; `UNUSABLE`, with a finding, for one without a valid name. */
export function readService(object: Reader): Service | typeof UNUSABLE {
  const metadata = readMetadata(object, { namespaced: true, name: 'label' })
  if (metadata === undefined) return UNUSABLE
  const spec = object.object('spec')
  const type = readChoice(spec, 'type', TYPES)
  return {
    key: `${metadata.namespace}/${metadata.name}` as ServiceKey,
    uid: readUid(object.object('metadata')),
    type,
    ...(type === 'ExternalName' && readExternalName(spec)),
    clusterIPs: type === 'ExternalName' ? present([]) : readClusterIPs(spec),
    ports: readServicePorts(spec),
    externalIPs: readHostAddresses(spec, 'externalIPs'),
    loadBalancerIPs: readIngress(object.object('status').object('loadBalancer')),
    ...readLoadBalancerClass(spec),
    loadBalancerSourceRanges: readSourceRanges(spec, metadata.annotations),
    externalTrafficPolicy: readChoice(spec, 'externalTrafficPolicy', POLICIES),
    internalTrafficPolicy: readChoice(spec, 'internalTrafficPolicy', POLICIES),
    healthCheckNodePort: readAllocatedPort(spec, 'healthCheckNodePort'),
    affinitySeconds: readAffinity(spec),
    publishNotReadyAddresses: spec.flag('publishNotReadyAddresses') ?? false,
    proxyName: readProxyName(metadata),
    scheduler: readScheduler(metadata),
    proxyProtocol: readProxyProtocol(metadata),
  }
}

function readUid(metadata: Reader): string {
  const uid = metadata.text('uid') ?? ''
  if (uid.length <= MAX_UID_LENGTH) return uid
  metadata.refuse('uid', `must have at most ${MAX_UID_LENGTH} characters`, 'it is left out')
  return ''
}

/** The external name as a field to spread into the Service; empty if it is absent or not a DNS name. */
function readExternalName(spec: Reader): { readonly externalName?: string } {
  const name = spec.value('externalName')
  const isUsable = typeof name === 'string' && isDnsName(name)
  return isUsable ? { externalName: name.toLowerCase().replace(/\.$/, '') } : {}
}

/** The class as a field to spread into the Service; one that cannot be read is empty, which no implementation serves. */
function readLoadBalancerClass(spec: Reader): { readonly loadBalancerClass?: string } {
  const name = spec.value('loadBalancerClass')
  if (name === undefined || name === null) return {}
  if (typeof name === 'string' && isQualifiedName(name)) return { loadBalancerClass: name }
  spec.refuse(
    'loadBalancerClass',
    'must be a name such as example.com/class',
    'no implementation serves it',
  )
  return { loadBalancerClass: '' }
}

function readIngress(loadBalancer: Reader): readonly IpAddress[] {
  const addresses = new Set<IpAddress>()
  for (const entry of loadBalancer.objects('ingress')) {
    const value = entry.value('ip')
    if (value === undefined || value === '' || !isCaptured(entry)) continue
    const ip = readAddress(value, 'host', (wrong, instead) => entry.refuse('ip', wrong, instead))
    if (ip !== undefined) addresses.add(ip)
  }
  return present(addresses)
}

/**
 * With `ipMode: Proxy` the load balancer has to get the packets itself; unknown modes are treated in the
 * same way.
 */
function isCaptured(entry: Reader): boolean {
  const mode = entry.value('ipMode')
  if (mode === undefined || mode === '' || mode === 'VIP') return true
  if (mode !== 'Proxy') entry.refuse('ipMode', 'must be VIP or Proxy', 'its ip is not captured')
  return false
}

/** If the name cannot be read, no existing proxy has it. */
function readProxyName({ labels }: Metadata): string | undefined {
  const key = firstPresent(labels, NAMES.proxyName)
  if (key === undefined) return undefined
  const name = labels.value(key)
  if (typeof name === 'string' && isLabelValue(name)) return name
  labels.refuse(key, 'must be the value of a label', 'no proxy serves this Service')
  return ''
}

function readScheduler({ annotations }: Metadata): string | undefined {
  const scheduler = named(annotations, NAMES.scheduler)?.trim()
  if (scheduler === undefined || scheduler === '') return undefined
  if (SCHEDULER.test(scheduler)) return scheduler
  const key = firstPresent(annotations, NAMES.scheduler)!
  annotations.refuse(key, 'must be an IPVS scheduler such as rr, wrr or lc', 'it is left out')
  return undefined
}

function readProxyProtocol({ annotations }: Metadata): ProxyProtocol | undefined {
  const version = named(annotations, NAMES.proxyProtocol)?.trim()
  if (version === undefined || version === '') return undefined
  const known = PROXY_PROTOCOLS.find((candidate) => candidate === version)
  if (known !== undefined) return known
  const key = firstPresent(annotations, NAMES.proxyProtocol)!
  annotations.refuse(key, 'must be v1 or v2', 'it is left out')
  return undefined
}

/**
 * `clusterIPs`, or the single `clusterIP` of old servers: at most one of each family, whatever `ipFamilies` says. Empty for a
 * headless Service (`None`) and for one without an allocated address.
 */
function readClusterIPs(spec: Reader): readonly IpAddress[] {
  const several = spec.list('clusterIPs')
  if (several.length === 0) return readSingle(spec)
  if (several.includes('None')) return present([])
  const byFamily = new Map<Family, IpAddress>()
  for (const [index, value] of several.entries()) {
    if (value === '') continue
    const ip = readAddress(value, 'any', (wrong, instead) => {
      spec.refuseItem('clusterIPs', index, wrong, instead)
    })
    if (ip === undefined) continue
    if (byFamily.has(familyOf(ip))) {
      spec.refuseItem('clusterIPs', index, 'must be the only address of its family', LEFT_OUT)
    } else {
      byFamily.set(familyOf(ip), ip)
      checkFamily(spec, index, ip)
    }
  }
  return present(byFamily.values())
}

function readSingle(spec: Reader): readonly IpAddress[] {
  const value = spec.value('clusterIP')
  if (value === undefined || value === '' || value === 'None') return present([])
  const ip = readAddress(value, 'any', (wrong, instead) => {
    spec.refuse('clusterIP', wrong, instead)
  })
  return present([ip])
}

/** If `ipFamilies` names another family, the address counts and a finding is recorded. */
function checkFamily(spec: Reader, index: number, ip: IpAddress): void {
  const family = familyOf(ip)
  if (spec.list('ipFamilies')[index] !== (family === 4 ? 'IPv6' : 'IPv4')) return
  const message = `must be IPv${family}, the family of clusterIPs[${index}]`
  spec.refuseItem('ipFamilies', index, message, 'the address counts')
}

/**
 * The sources that may use the load balancer addresses: the field, else the first annotation that is not blank.
 * Undefined if neither is set: then every client is admitted.
 *
 * Any value that is set restricts. A range that cannot be read admits no client, so a list that has only such ranges
 * is read as empty, and so is a value that is not a list. Ranges of both families stay in the list, because each
 * address is compared with those of its own family: a list of IPv4 ranges admits no client to an IPv6 address.
 */
function readSourceRanges(spec: Reader, annotations: Reader): readonly Cidr[] | undefined {
  const field = spec.value(FIELD)
  const isEmpty = field === undefined || (Array.isArray(field) && field.length === 0)
  if (!isEmpty) return readCidrs(spec, FIELD)
  for (const key of NAMES.sourceRanges) {
    const value = annotations.value(key)
    if (value === undefined || (typeof value === 'string' && value.trim() === '')) continue
    return readAnnotation(annotations, key)
  }
  return undefined
}

function readAnnotation(annotations: Reader, key: string): readonly Cidr[] {
  const cidrs = new Set<Cidr>()
  for (const part of annotations.text(key)?.split(',') ?? []) {
    const note: Note = (wrong, instead) => {
      annotations.findings.add(annotations.path(key), part.trim(), wrong, instead)
    }
    const cidr = readCidr(part, note, INSTEAD)
    if (cidr !== undefined) cidrs.add(cidr)
  }
  return present(cidrs)
}

/** One of `values`; the first one if the field is absent or empty, or (with a finding) has an unknown value. */
function readChoice<T extends string>(
  object: Reader,
  key: string,
  values: readonly [T, ...T[]],
): T {
  const value = object.value(key)
  const found = values.find((candidate) => candidate === value)
  if (found !== undefined) return found
  if (value !== undefined && value !== '') {
    object.refuse(key, { supported: values }, `${values[0]} is used`)
  }
  return values[0]
}

const AFFINITIES = ['None', 'ClientIP'] as const
export const DEFAULT_AFFINITY_SECONDS = 10_800
const MAX_AFFINITY_SECONDS = 86_400

/** Seconds that a client stays with its backend; undefined without affinity. */
function readAffinity(spec: Reader): number | undefined {
  if (readChoice(spec, 'sessionAffinity', AFFINITIES) === 'None') return undefined
  const config = spec.object('sessionAffinityConfig').object('clientIP')
  const seconds = config.value('timeoutSeconds')
  if (isIntegerIn(seconds, 1, MAX_AFFINITY_SECONDS)) return seconds
  if (seconds !== undefined) {
    const instead = `${DEFAULT_AFFINITY_SECONDS} is used`
    config.refuse('timeoutSeconds', `must be from 1 to ${MAX_AFFINITY_SECONDS} seconds`, instead)
  }
  return DEFAULT_AFFINITY_SECONDS
}
