import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { parseLegacyIp } from '../../../lib/legacy-address.ts'
import { CIDR_FAULT } from '../../../resources/address.ts'
import { isLabel, isPortName, isSubdomain, NAMES } from '../../../resources/names.ts'
import { isPort } from '../../../resources/port.ts'
import { ownField, type Raw, type Reader } from '../../../resources/reader.ts'
import { DEFAULT_AFFINITY_SECONDS, readService } from '../../../resources/service.ts'
import { ageColumn, type Column, column, nameColumn, wideColumn } from '../../resource/column.ts'
import type { ObjectReader, Resource } from '../../resource/resource.ts'
import { invalidValue, type StatusCause } from '../../status/status.ts'
import { nodes } from '../node/resource.ts'
import { checkAppProtocol, checkOneOf, checkSubdomain, DNS_FAULT } from '../shared/checks.ts'
import { change, changeEach, defaultProtocol, fill, without } from '../shared/edit.ts'
import { checkMatchLabels } from '../shared/label-selector.ts'
import { addressOfUnreadable, type CapturedAddress, newlyCaptured } from './captured-addresses.ts'
import { allocationsOf, releaseOperations } from './held-keys.ts'

const [ORCH_HINTS, HINTS, ORCH_MODE, MODE] = NAMES.topologyMode

const FAMILIES: readonly unknown[] = ['IPv4', 'IPv6']
const FAMILY_POLICIES = ['SingleStack', 'PreferDualStack', 'RequireDualStack']
const DNS_1035_FAULT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

const columns: readonly Column[] = [
  nameColumn,
  column('Type', 'How the Service is exposed.', (object) => stringAt(object, 'spec', 'type')),
  column('Cluster-IP', 'The virtual IP inside the cluster.', (object) =>
    orNone(stringAt(object, 'spec', 'clusterIP')),
  ),
  column('External-IP', 'Addresses that reach it from outside.', externalAddresses),
  column('Port(s)', 'Ports that it exposes.', ports),
  ageColumn,
  wideColumn('Selector', 'Labels of the pods behind it.', selector),
]

const WARNING =
  'spec.externalIPs: every node captures these addresses, so every client that may write a Service can take the traffic of others; use a Service of type LoadBalancer instead'

export const services: Resource = {
  plural: 'services',
  singular: 'service',
  kind: 'Service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ loadBalancer: {} }) },
  allocation: { release: releaseOperations, keysOf: allocationsOf },
  checkAmong: (objects, next, old) =>
    nodeCapture(objects, next, old) ?? addressOfUnreadable(objects.unreadable(services), next, old),
  warnings: captureWarnings,
  updateNeedsVersion: true,
  fields: (object) => ({
    'spec.clusterIP': stringAt(object, 'spec', 'clusterIP'),
    'spec.type': stringAt(object, 'spec', 'type'),
  }),
  columns,
  validate: checkService,
  validateUpdate: checkServiceUpdate,
  defaults: defaultService,
}

/** The class of a load balancer and its health check port are immutable. A change of type removes both. */
function checkServiceUpdate(next: Reader, old: Reader): void {
  const [spec, before] = [next.object('spec'), old.object('spec')]
  if (!isBalanced(spec) || !isBalanced(before)) return
  if (spec.value('loadBalancerClass') !== before.value('loadBalancerClass')) {
    spec.refuse('loadBalancerClass', 'may not change once set')
  }
  const port = before.value('healthCheckNodePort') ?? 0
  const requested = spec.value('healthCheckNodePort') ?? 0
  const isLocal = spec.value('externalTrafficPolicy') === 'Local'
  if (isLocal && port !== 0 && requested !== 0 && requested !== port) {
    spec.refuse('healthCheckNodePort', 'may not change once set')
  }
}

function isBalanced(spec: Reader): boolean {
  return spec.value('type') === 'LoadBalancer'
}

/** The warning to the author of a Service that captures new addresses by `externalIPs`. */
function captureWarnings(next: JsonObject, old: JsonObject | undefined): readonly string[] {
  return newExternalIPs(next, old).length === 0 ? [] : [WARNING]
}

/**
 * No Service may capture a node's own address as an externalIP, because it would take over ports that the node
 * itself serves. A load balancer may have the address of a node.
 */
function nodeCapture(
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

/** The newly captured addresses in `externalIPs`, without those of load balancers. */
function newExternalIPs(next: JsonObject, old: JsonObject | undefined): readonly CapturedAddress[] {
  return newlyCaptured(next, old).filter(({ field }) => field.startsWith('spec.'))
}

function addressesOf(node: JsonObject): readonly string[] {
  const addresses = arrayAt(node, 'status', 'addresses')
  return addresses.flatMap((one) => parseLegacyIp(stringAt(one, 'address')) ?? [])
}

function defaultService(service: Raw): Raw {
  return change(service, 'spec', defaultSpec)
}

function defaultSpec(given: Raw): Raw {
  const spec = fill(given, { type: 'ClusterIP', sessionAffinity: 'None' })
  const type = ownField(spec, 'type')
  const policies = {
    ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(isExternal(spec) ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
  }
  return changeEach(defaultAffinity(fill(spec, policies)), 'ports', defaultPort)
}

/** Whether the Service can be reached from outside: by node ports, a load balancer, or externalIPs. */
function isExternal(spec: Raw): boolean {
  const type = ownField(spec, 'type')
  const ips = ownField(spec, 'externalIPs')
  if (type === 'NodePort' || type === 'LoadBalancer') return true
  return type === 'ClusterIP' && Array.isArray(ips) && ips.length > 0
}

/** The configuration of session affinity is removed if there is no affinity. */
function defaultAffinity(spec: Raw): Raw {
  const affinity = ownField(spec, 'sessionAffinity')
  if (affinity === 'None') return without(spec, 'sessionAffinityConfig')
  if (affinity !== 'ClientIP') return spec
  const seconds = { timeoutSeconds: DEFAULT_AFFINITY_SECONDS }
  const inner = (config: Raw) => change(config, 'clientIP', (clientIP) => fill(clientIP, seconds))
  return change(spec, 'sessionAffinityConfig', inner)
}

/** A target port of 0 counts as absent. */
function defaultPort(given: Raw): Raw {
  const port = defaultProtocol(given)
  const number = ownField(port, 'port')
  if (!isPort(number)) return port
  return ownField(port, 'targetPort') === 0
    ? { ...port, targetPort: number }
    : fill(port, { targetPort: number })
}

function orNone(text: string): string {
  return text === '' ? '<none>' : text
}

function externalAddresses(object: JsonObject): string {
  const type = stringAt(object, 'spec', 'type')
  if (type === 'ExternalName') return stringAt(object, 'spec', 'externalName')
  const ingress = arrayAt(object, 'status', 'loadBalancer', 'ingress').map(
    (one) => stringAt(one, 'ip') || stringAt(one, 'hostname'),
  )
  const external = arrayAt(object, 'spec', 'externalIPs').filter(isString)
  const all = [...(type === 'LoadBalancer' ? ingress : []), ...external]
  if (all.length > 0) return all.join(',')
  return type === 'LoadBalancer' ? '<pending>' : '<none>'
}

function ports(object: JsonObject): string {
  const texts = arrayAt(object, 'spec', 'ports').map((port) => {
    const nodePort = scalarText(valueAt(port, 'nodePort'))
    const node = nodePort === '' || nodePort === '0' ? '' : `:${nodePort}`
    return `${scalarText(valueAt(port, 'port'))}${node}/${stringAt(port, 'protocol') || 'TCP'}`
  })
  return orNone(texts.join(','))
}

function selector(object: JsonObject): string {
  const pairs = Object.entries(objectAt(object, 'spec', 'selector'))
  return orNone(pairs.map(([key, value]) => `${key}=${scalarText(value)}`).join(','))
}

function isString(value: Json): value is string {
  return typeof value === 'string'
}

/**
 * The rules for a Service. Fields of another type (such as the node port of a ClusterIP Service) are accepted
 * here: a client that changes only the type still sends them, and the server removes them afterwards.
 */
function checkService(object: Reader): void {
  readService(object)
  checkName(object.object('metadata'))
  const spec = object.object('spec')
  const annotations = object.object('metadata').map('annotations')
  refuseBareSourceRanges(spec, annotations)
  checkTopologyMode(annotations)
  checkServicePorts(spec)
  checkHeadless(spec)
  checkFamilies(spec)
  checkMatchLabels(spec, 'selector')
  checkExternalName(spec)
  checkOneOf(spec, 'trafficDistribution', DISTRIBUTIONS)
  for (const entry of object.object('status').object('loadBalancer').objects('ingress')) {
    checkSubdomain(entry, 'hostname')
  }
}

/** The name is used in DNS and in environment variables, so it must begin with a letter. */
function checkName(metadata: Reader): void {
  const name = metadata.value('name')
  if (typeof name === 'string' && isLabel(name) && !/^[a-z]/.test(name)) {
    metadata.refuse('name', DNS_1035_FAULT)
  }
}

function checkHeadless(spec: Reader): void {
  const several = spec.list('clusterIPs')
  const type = spec.value('type')
  const headless = spec.value('clusterIP') === 'None' || several.includes('None')
  if (headless && (type === 'NodePort' || type === 'LoadBalancer')) {
    spec.refuse('clusterIP', `must not be None for a Service of type ${type}`)
  }
  if (several.includes('None') && several.length > 1) {
    spec.refuse('clusterIPs', 'must be ["None"] alone, or addresses')
  }
}

function checkFamilies(spec: Reader): void {
  const families = spec.list('ipFamilies')
  for (const [index, family] of families.entries()) {
    if (!FAMILIES.includes(family)) spec.refuseItem('ipFamilies', index, 'must be IPv4 or IPv6')
    else if (families.indexOf(family) < index) {
      spec.refuseItem('ipFamilies', index, { isDuplicate: true, other: 'those before it' })
    }
  }
  checkOneOf(spec, 'ipFamilyPolicy', FAMILY_POLICIES)
}

function checkExternalName(spec: Reader): void {
  if (spec.value('type') !== 'ExternalName') return
  const name = spec.value('externalName')
  if (typeof name === 'string' && isSubdomain(name.replace(/\.$/, ''))) return
  spec.refuse('externalName', DNS_FAULT)
}

/** The older annotation counts before the newer one, so the two must not differ, as in Kubernetes. */
function checkTopologyMode(annotations: Reader): void {
  for (const [older, newer] of [
    [ORCH_HINTS, ORCH_MODE],
    [HINTS, MODE],
  ] as const) {
    const [value, other] = [annotations.value(older), annotations.value(newer)]
    const isBoth = value !== undefined && other !== undefined
    if (isBoth && value !== other) {
      annotations.refuse(older, `must be equal to the annotation ${newer} when both are present`)
    }
  }
}

/**
 * Refuses source ranges without a prefix length, in the field and its annotations. A node reads such an address
 * as a network of one address, but a write must state the length. Other invalid networks are found by
 * `readSourceRanges`.
 */
function refuseBareSourceRanges(spec: Reader, annotations: Reader): void {
  const field = 'loadBalancerSourceRanges'
  for (const [index, value] of spec.list(field).entries()) {
    if (isBareAddress(value)) spec.refuseItem(field, index, CIDR_FAULT)
  }
  for (const key of NAMES.sourceRanges) {
    const value = annotations.value(key)
    const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : []
    for (const part of parts.filter(isBareAddress)) {
      annotations.findings.add(annotations.path(key), part, CIDR_FAULT)
    }
  }
}

function isBareAddress(value: unknown): boolean {
  return typeof value === 'string' && parseLegacyIp(value.trim()) !== undefined
}

/** The rules between the ports of a Service; each by itself is checked where it is read. */
function checkServicePorts(spec: Reader): void {
  const ports = spec.objects('ports')
  const given = spec.value('ports') ?? []
  if (Array.isArray(given) && given.length === 0 && needsPorts(spec)) {
    spec.refuse('ports', 'must have at least one port')
  }
  const seen = new Set<string>()
  for (const port of ports) {
    checkPortName(port, ports.length > 1)
    checkTargetPort(port)
    checkAppProtocol(port)
    refuseRepeated(port, 'name', seen)
    refuseRepeated(port, 'port', seen)
    refuseRepeated(port, 'nodePort', seen)
  }
}

function needsPorts(spec: Reader): boolean {
  return spec.value('type') !== 'ExternalName' && spec.value('clusterIP') !== 'None'
}

function checkPortName(port: Reader, required: boolean): void {
  const name = port.value('name')
  if (required && (name === undefined || name === '')) {
    port.refuse('name', 'must be given when there are several ports')
  }
}

/** A container's port or the name of one, which is an IANA service name (RFC 6335). */
function checkTargetPort(port: Reader): void {
  const target = port.value('targetPort')
  if (target === undefined || isPort(target)) return
  if (typeof target === 'string' && isPortName(target)) return
  port.refuse(
    'targetPort',
    'must be from 1 to 65535, or the name of a container port (a-z, 0-9, -)',
  )
}

/** Names differ; numbers may repeat with another protocol. */
function refuseRepeated(port: Reader, key: 'name' | 'port' | 'nodePort', seen: Set<string>): void {
  const value = port.value(key)
  if (value === undefined || value === '' || value === 0) return
  const protocol = key === 'name' ? '' : (port.value('protocol') ?? 'TCP')
  const id = JSON.stringify([key, value, protocol])
  if (seen.has(id)) port.refuse(key, { isDuplicate: true, other: OTHERS[key] })
  seen.add(id)
}

const OTHERS = {
  name: 'the names of the other ports',
  port: 'the other ports of the same protocol',
  nodePort: 'the other node ports of the same protocol',
} as const
