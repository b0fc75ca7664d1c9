import { type Family, familyOf } from '../lib/ip.ts'
import { readAddress } from './address.ts'
import { readEndpointPorts } from './endpoint-ports.ts'
import { readMetadata } from './metadata.ts'
import { isLabel, NAMES, named } from './names.ts'
import { type Decoded, Findings } from './problem.ts'
import { child, isRaw, list, own, type Raw, text } from './raw.ts'
import { readTriggerTime } from './trigger-time.ts'
import type { Endpoint, EndpointSource, ServiceKey } from './types.ts'
import { readWeights } from './weight.ts'

/**
 * discovery.k8s.io EndpointSlice, v1 and v1beta1. Undefined for a slice that is
 * not for proxies: of a headless Service, of no Service, or of names.
 */
export function decodeEndpointSlice(raw: unknown): Decoded<EndpointSource | undefined> {
  const findings = new Findings()
  const metadata = readMetadata(raw, { namespaced: true, name: 'subdomain' }, findings)
  if (metadata === undefined || !isRaw(raw)) return { ok: false, problems: findings.all }
  const { labels, annotations, namespace, name } = metadata
  const service = named(labels, NAMES.serviceOfSlice)
  const headless = named(labels, NAMES.headless) !== undefined
  const family = familyOfType(own(raw, 'addressType'), findings)
  if (service === undefined || headless || family === undefined) {
    return { ok: true, value: undefined, warnings: findings.all }
  }
  if (!isLabel(service)) {
    findings.add(`metadata.labels[${NAMES.serviceOfSlice[0]}]`, service, 'must name a Service')
    return { ok: false, problems: findings.all }
  }
  const context = { family, weightOf: readWeights(annotations, findings), findings }
  const endpoints = list(raw, 'endpoints').flatMap((item, index) =>
    readEndpoint(item, `endpoints[${index}]`, context),
  )
  const value: EndpointSource = {
    name: `${namespace}/${name}`,
    service: `${namespace}/${service}` as ServiceKey,
    groups: [{ family, ports: readEndpointPorts(list(raw, 'ports'), 'ports', findings), endpoints }],
    triggeredAt: readTriggerTime(annotations),
  }
  return { ok: true, value, warnings: findings.all }
}

interface Context {
  readonly family: Family
  readonly weightOf: (ip: string) => number
  readonly findings: Findings
}

/** v1beta1 has no addressType default but `IP` once meant IPv4; FQDN slices are not ours. */
function familyOfType(value: unknown, findings: Findings): Family | undefined {
  if (value === 'IPv4' || value === 'IP') return 4
  if (value === 'IPv6') return 6
  if (value !== 'FQDN') findings.add('addressType', value, 'must be IPv4, IPv6 or FQDN')
  return undefined
}

/** All addresses of an endpoint are the same Pod, so only the first one counts. */
function readEndpoint(raw: unknown, field: string, context: Context): readonly Endpoint[] {
  const { family, findings, weightOf } = context
  if (!isRaw(raw)) {
    findings.add(field, raw, 'must be an object')
    return []
  }
  const [first] = list(raw, 'addresses')
  const ip = readAddress(first, `${field}.addresses[0]`, findings)
  if (ip === undefined) return []
  if (familyOf(ip) !== family) {
    findings.add(`${field}.addresses[0]`, first, `must be an IPv${family} address in this slice`)
    return []
  }
  const conditions = child(raw, 'conditions')
  const terminating = own(conditions, 'terminating') === true
  const ready = own(conditions, 'ready') !== false
  const serving = own(conditions, 'serving')
  const hints = child(raw, 'hints')
  return [
    {
      ip,
      nodeName: nodeNameOf(raw),
      ready,
      serving: typeof serving === 'boolean' ? serving : ready,
      terminating,
      zoneHints: readHints(hints, 'forZones'),
      nodeHints: readHints(hints, 'forNodes'),
      weight: weightOf(ip),
    },
  ]
}

/** v1beta1 kept the node's name in its topology map. */
function nodeNameOf(raw: Raw): string {
  return text(raw, 'nodeName') ?? text(child(raw, 'topology'), 'kubernetes.io/hostname') ?? ''
}

function readHints(hints: Raw, key: 'forZones' | 'forNodes'): readonly string[] | undefined {
  const names = list(hints, key).flatMap((item) => (isRaw(item) ? [text(item, 'name') ?? ''] : []))
  return names.length === 0 ? undefined : names
}
