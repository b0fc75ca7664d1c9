import type { Family } from '../lib/ip.ts'
import { decode, UNUSABLE } from './decode.ts'
import type { EndpointsChoice } from './endpoints.ts'
import { firstPresent, type Metadata, readMetadata } from './metadata.ts'
import { isLabel, NAMES } from './names.ts'
import { readEndpointPorts } from './port.ts'
import type { Decoded } from './problem.ts'
import type { Reader } from './reader.ts'
import { readSliceEndpoints } from './slice-endpoints.ts'
import { readTriggerTime } from './timestamp.ts'
import type { EndpointSource, ServiceKey } from './types.ts'
import { readWeights } from './weight.ts'

/**
 * discovery.k8s.io EndpointSlice, v1 and v1beta1. Undefined for a slice that proxies ignore: one of a headless Service
 * (unless these are included), one without a Service, or one of host names.
 */
export function decodeEndpointSlice(
  raw: unknown,
  { includeHeadless }: EndpointsChoice = { includeHeadless: false },
): Decoded<EndpointSource | undefined> {
  return decode(raw, includeHeadless ? readAnySlice : readEndpointSlice)
}

export const SLICE_NAMES = { namespaced: true, name: 'subdomain' } as const

function readEndpointSlice(object: Reader): EndpointSource | undefined | typeof UNUSABLE {
  const metadata = readMetadata(object, SLICE_NAMES)
  if (metadata === undefined) return UNUSABLE
  const isHeadless = firstPresent(metadata.labels, NAMES.headless) !== undefined
  return isHeadless ? undefined : readSource(object, metadata)
}

function readAnySlice(object: Reader): EndpointSource | undefined | typeof UNUSABLE {
  const metadata = readMetadata(object, SLICE_NAMES)
  return metadata === undefined ? UNUSABLE : readSource(object, metadata)
}

function readSource(
  object: Reader,
  metadata: Metadata,
): EndpointSource | undefined | typeof UNUSABLE {
  const { annotations, namespace, name } = metadata
  const service = readServiceName(metadata)
  const family = readFamily(object)
  if (service === UNUSABLE || family === UNUSABLE) return UNUSABLE
  if (service === undefined || family === undefined) return undefined
  return {
    name: `${namespace}/${name}`,
    service: `${namespace}/${service}` as ServiceKey,
    groups: [
      {
        family,
        ports: readEndpointPorts(object),
        endpoints: readSliceEndpoints(object, family, readWeights(annotations)),
      },
    ],
    triggeredAt: readTriggerTime(annotations),
  }
}

/** The Service of a slice; undefined without the label. Refuses a label that is not the name of a Service. */
export function readServiceName({ labels }: Metadata): string | undefined | typeof UNUSABLE {
  const key = firstPresent(labels, NAMES.serviceOfSlice)
  if (key === undefined) return undefined
  const name = labels.value(key)
  if (typeof name === 'string' && isLabel(name)) return name
  labels.refuse(key, 'must be the name of a Service in this namespace')
  return UNUSABLE
}

/** The family of the addresses; undefined for host names. Early v1beta1 wrote `IP` for IPv4. */
export function readFamily(object: Reader): Family | undefined | typeof UNUSABLE {
  const type = object.value('addressType')
  if (type === 'IPv4' || type === 'IP') return 4
  if (type === 'IPv6') return 6
  if (type === 'FQDN') return undefined
  object.refuse('addressType', { supported: ['FQDN', 'IPv4', 'IPv6'] })
  return UNUSABLE
}
