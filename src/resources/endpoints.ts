import { type Family, familyOf, type IpAddress } from '../lib/ip.ts'
import { readAddress } from './address.ts'
import { readEndpointPorts } from './endpoint-ports.ts'
import { readMetadata } from './metadata.ts'
import { NAMES, named } from './names.ts'
import { type Decoded, Findings } from './problem.ts'
import { isRaw, list, own, type Raw, text } from './raw.ts'
import { readTriggerTime } from './trigger-time.ts'
import type { Endpoint, EndpointGroup, EndpointSource, ServiceKey } from './types.ts'
import { readWeights } from './weight.ts'

/** v1 Endpoints, whose name is its Service's. Undefined for those of a headless Service. */
export function decodeEndpoints(raw: unknown): Decoded<EndpointSource | undefined> {
  const findings = new Findings()
  const metadata = readMetadata(raw, { namespaced: true, name: 'label' }, findings)
  if (metadata === undefined || !isRaw(raw)) return { ok: false, problems: findings.all }
  const { labels, annotations, namespace, name } = metadata
  if (named(labels, NAMES.headless) !== undefined) {
    return { ok: true, value: undefined, warnings: findings.all }
  }
  const weightOf = readWeights(annotations, findings)
  const groups = list(raw, 'subsets').flatMap((subset, index) => {
    const field = `subsets[${index}]`
    if (isRaw(subset)) return readSubset(subset, { field, weightOf, findings })
    findings.add(field, subset, 'must be an object')
    return []
  })
  const value: EndpointSource = {
    name: `${namespace}/${name}`,
    service: `${namespace}/${name}` as ServiceKey,
    groups,
    triggeredAt: readTriggerTime(annotations),
  }
  return { ok: true, value, warnings: findings.all }
}

interface SubsetContext {
  readonly field: string
  readonly weightOf: (ip: string) => number
  readonly findings: Findings
}

/** One group per family; addresses of both may stand in one subset. */
function readSubset(subset: Raw, context: SubsetContext): readonly EndpointGroup[] {
  const { field, findings } = context
  const ports = readEndpointPorts(list(subset, 'ports'), `${field}.ports`, findings)
  const endpoints = [
    ...readAddressList(subset, 'addresses', context),
    ...readAddressList(subset, 'notReadyAddresses', context),
  ]
  return ([4, 6] as const)
    .map((family: Family) => ({
      family,
      ports,
      endpoints: endpoints.filter(({ ip }) => familyOf(ip) === family),
    }))
    .filter((group) => group.endpoints.length > 0)
}

function readAddressList(
  subset: Raw,
  key: 'addresses' | 'notReadyAddresses',
  { field, weightOf, findings }: SubsetContext,
): readonly Endpoint[] {
  const ready = key === 'addresses'
  return list(subset, key).flatMap((raw, index) => {
    const at = `${field}.${key}[${index}]`
    const ip = readAddress(isRaw(raw) ? own(raw, 'ip') : raw, `${at}.ip`, findings)
    if (ip === undefined || !isRaw(raw)) return []
    return [endpointOf(ip, { ready, nodeName: text(raw, 'nodeName') ?? '', weight: weightOf(ip) })]
  })
}

/** v1 knows no serving and terminating: what is not ready does not serve. */
function endpointOf(
  ip: IpAddress,
  { ready, nodeName, weight }: Pick<Endpoint, 'ready' | 'nodeName' | 'weight'>,
): Endpoint {
  return {
    ip,
    nodeName,
    ready,
    serving: ready,
    terminating: false,
    zoneHints: undefined,
    nodeHints: undefined,
    weight,
  }
}
