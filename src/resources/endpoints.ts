import { type Family, familyOf } from '../lib/ip.ts'
import { type Note, readAddress } from './address.ts'
import { decode, UNUSABLE } from './decode.ts'
import { firstPresent, type Metadata, readMetadata } from './metadata.ts'
import { NAMES } from './names.ts'
import { readNodeName } from './node-name.ts'
import { readEndpointPorts } from './port.ts'
import type { Decoded } from './problem.ts'
import { present, type Reader } from './reader.ts'
import { readHostname } from './slice-endpoints.ts'
import { readTriggerTime } from './timestamp.ts'
import type { Endpoint, EndpointGroup, EndpointSource, ServiceKey } from './types.ts'
import { readWeights, type WeightOf } from './weight.ts'

const FAMILIES: readonly Family[] = [4, 6]

/** Which Endpoints are decoded. */
export interface EndpointsChoice {
  /** Whether to include those of headless Services. */
  readonly includeHeadless: boolean
}

/**
 * v1 Endpoints, which have the name of their Service. Undefined for those of a headless Service, unless these are
 * included.
 */
export function decodeEndpoints(
  raw: unknown,
  { includeHeadless }: EndpointsChoice = { includeHeadless: false },
): Decoded<EndpointSource | undefined> {
  return decode(raw, includeHeadless ? readAllEndpoints : readEndpoints)
}

/** An Endpoints object may serve another purpose than a Service, and then have dots in its name. */
export const ENDPOINTS_NAMES = { namespaced: true, name: 'subdomain' } as const

function readEndpoints(object: Reader): EndpointSource | undefined | typeof UNUSABLE {
  const metadata = readMetadata(object, ENDPOINTS_NAMES)
  if (metadata === undefined) return UNUSABLE
  const isHeadless = firstPresent(metadata.labels, NAMES.headless) !== undefined
  return isHeadless ? undefined : readSource(object, metadata)
}

function readAllEndpoints(object: Reader): EndpointSource | typeof UNUSABLE {
  const metadata = readMetadata(object, ENDPOINTS_NAMES)
  return metadata === undefined ? UNUSABLE : readSource(object, metadata)
}

function readSource(object: Reader, { annotations, namespace, name }: Metadata): EndpointSource {
  return {
    name: `${namespace}/${name}`,
    service: `${namespace}/${name}` as ServiceKey,
    groups: readSubsets(object, readWeights(annotations)),
    triggeredAt: readTriggerTime(annotations),
  }
}

/** The endpoints of v1 Endpoints, in groups of one family and list of ports. */
export function readSubsets(object: Reader, weightOf: WeightOf): readonly EndpointGroup[] {
  return present(object.objects('subsets').flatMap((subset) => readSubset(subset, weightOf)))
}

/** One group for each family: a subset may have addresses of both. */
function readSubset(subset: Reader, weightOf: WeightOf): readonly EndpointGroup[] {
  const ports = readEndpointPorts(subset)
  const endpoints = [
    ...readAddressList(subset, 'addresses', weightOf),
    ...readAddressList(subset, 'notReadyAddresses', weightOf),
  ]
  return FAMILIES.map((family) => ({
    family,
    ports,
    endpoints: present(endpoints.filter(({ ip }) => familyOf(ip) === family)),
  })).filter((group) => group.endpoints.length > 0)
}

/** v1 has no `serving` and `terminating`: an address that is not ready does not serve. */
function readAddressList(
  subset: Reader,
  key: 'addresses' | 'notReadyAddresses',
  weightOf: WeightOf,
): readonly Endpoint[] {
  const ready = key === 'addresses'
  return subset.objects(key).flatMap((raw) => {
    const note: Note = (wrong, instead) => raw.refuse('ip', wrong, instead)
    const ip = readAddress(raw.value('ip'), 'host', note, 'the endpoint is left out')
    if (ip === undefined) return []
    return {
      ip,
      ...readHostname(raw),
      nodeName: readNodeName(raw, 'nodeName'),
      ready,
      serving: ready,
      terminating: false,
      zoneHints: undefined,
      nodeHints: undefined,
      weight: weightOf(ip),
    }
  })
}
