import { type Family, familyOf } from '../../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  without,
} from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import {
  ENDPOINTS_MANAGED_BY,
  LAST_APPLIED,
  OVER_CAPACITY,
  SERVICE_NAME,
  SKIP_MIRROR,
  SLICE_MANAGED_BY,
  TRIGGER_TIME,
} from '../../resources/label-names.ts'
import type { View } from '../cache/object-cache.ts'
import { type StringMap, withoutKeys } from '../objects/object-meta.ts'
import { type EndpointsObject, isElectionLock } from '../objects/plain-objects.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { objectNamed } from '../runner/write.ts'
import { portsKey, sortPorts } from './candidate.ts'
import { endpointId, isReady, type WantedEndpoint, type WantedGroup } from './slice-packing.ts'
import {
  ADDRESS_TYPES,
  type AddressType,
  ownerReference,
  type SliceTemplate,
  sliceAffects,
  sliceDeletions,
  slicesOf,
  sliceWrites,
  type WantedSlices,
} from './slice-writes.ts'

/**
 * At most so many addresses of one subset are mirrored, the ready ones first; also the most endpoints of one slice. It
 * is the default of `--mirroring-max-endpoints-per-subset` of kube-controller-manager.
 */
const MAX_PER_SUBSET = 1000

const FAMILIES = [4, 6] as const

const MANAGER = 'endpointslicemirroring-controller.k8s.io'
/** Texts that Go's `strconv.ParseBool` reads as true; kube-controller-manager reads the label with it. */
const TRUE = /^(1|t|T|true|True|TRUE)$/

/**
 * Mirrors hand-written Endpoints of Services without a selector as EndpointSlices, because nodes read
 * only those. Locks of a leader election, Endpoints with the label `skip-mirror` and Endpoints without a
 * Service are not mirrored.
 */
export const mirroringController: Controller = {
  name: 'endpointslicemirroring',
  account: 'endpointslicemirroring-controller',
  watches: {
    services: ({ key }) => [key],
    endpoints: ({ key }) => [key],
    endpointslices: sliceAffects(MANAGER),
  },
  reconcile,
}

function reconcile(key: string, view: View): Reconciliation {
  const service = view.services.get(key)
  const endpoints = view.endpoints.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined || endpoints === undefined) {
    const missing = service === undefined ? 'services' : 'endpoints'
    return { writes: sliceDeletions(existing, [objectNamed(missing, key)]) }
  }
  if (service.selector !== undefined || service.isExternalName || isExcluded(endpoints)) {
    return { writes: sliceDeletions(existing) }
  }
  const template = templateOf(
    endpoints,
    existing.map(({ meta }) => meta.annotations),
  )
  return { writes: sliceWrites(existing, mirroredSlices(endpoints), template) }
}

function isExcluded(endpoints: EndpointsObject): boolean {
  return isElectionLock(endpoints) || TRUE.test(endpoints.meta.labels[SKIP_MIRROR] ?? '')
}

/**
 * Slices get the labels and annotations of the Endpoints, except for those that concern only the Endpoints.
 * Annotations of existing slices (`known`) that the Endpoints no longer have are removed.
 */
function templateOf(endpoints: EndpointsObject, known: readonly StringMap[]): SliceTemplate {
  const { namespace, name, labels, annotations } = endpoints.meta
  const knownKeys = known.flatMap(Object.keys).filter((key) => key !== TRIGGER_TIME)
  return {
    namespace,
    service: name,
    labels: {
      ...withoutKeys(labels, ENDPOINTS_MANAGED_BY),
      [SERVICE_NAME]: name,
      [SLICE_MANAGED_BY]: MANAGER,
    },
    annotations: {
      ...Object.fromEntries(knownKeys.map((key) => [key, undefined])),
      ...withoutKeys(annotations, LAST_APPLIED, TRIGGER_TIME),
      [OVER_CAPACITY]: isTruncated(endpoints) ? 'truncated' : undefined,
    },
    owner: ownerReference('Endpoints', endpoints.meta),
    ownerTerminating: endpoints.meta.terminating,
    maxEndpoints: MAX_PER_SUBSET,
  }
}

/**
 * The endpoints that the slices of hand-written Endpoints hold, grouped by address type and ports. Each address
 * of a group is one endpoint, ready if it is ready in any subset with the same ports. Texts that are not IP
 * addresses are left out; numbers with leading zeros are read as decimal.
 */
function mirroredSlices({ subsets }: EndpointsObject): WantedSlices {
  const groupsByType = FAMILIES.map((family): readonly [AddressType, readonly WantedGroup[]] => {
    const byPorts = Map.groupBy(subsets, (subset) => portsKey(portsOf(subset)))
    const groups = [...byPorts.values()].map((samePorts) => groupOf(samePorts, family))
    return [ADDRESS_TYPES[family], groups.filter(({ endpoints }) => endpoints.length > 0)]
  })
  return new Map(groupsByType.filter(([, groups]) => groups.length > 0))
}

/** Whether a subset has more addresses than are mirrored. */
function isTruncated({ subsets }: EndpointsObject): boolean {
  return subsets.some((subset) => addressesOf(subset).length > MAX_PER_SUBSET)
}

function groupOf(subsets: readonly JsonObject[], family: Family): WantedGroup {
  const endpoints = new Map<string, WantedEndpoint>()
  for (const one of subsets.flatMap((subset) => endpointsOf(subset, family))) {
    const known = endpoints.get(one.id)
    if (known === undefined || !isReady(known)) endpoints.set(one.id, one)
  }
  return { ports: subsets.slice(0, 1).flatMap(portsOf), endpoints: [...endpoints.values()] }
}

function endpointsOf(subset: JsonObject, family: Family): readonly WantedEndpoint[] {
  const addresses = addressesOf(subset).slice(0, MAX_PER_SUBSET)
  return addresses.flatMap(({ address, ready }) => {
    const ip = parseLegacyIp(stringAt(address, 'ip'))
    if (ip === undefined || familyOf(ip) !== family) return []
    const body = {
      addresses: [ip],
      conditions: { ready },
      ...copiedField(address, 'hostname'),
      ...copiedField(address, 'nodeName'),
      ...copiedTargetRef(address),
    }
    return [{ id: endpointId(body), body, changedAt: '' }]
  })
}

interface SubsetAddress {
  readonly address: JsonObject
  readonly ready: boolean
}

function addressesOf(subset: JsonObject): readonly SubsetAddress[] {
  return ['addresses', 'notReadyAddresses'].flatMap((list) =>
    arrayAt(subset, list)
      .filter(isJsonObject)
      .map((address) => ({ address, ready: list === 'addresses' })),
  )
}

function copiedField(address: JsonObject, field: string): JsonObject {
  const value = stringAt(address, field)
  return value === '' ? {} : { [field]: value }
}

function copiedTargetRef(address: JsonObject): JsonObject {
  const target = without(objectAt(address, 'targetRef'), 'resourceVersion')
  return Object.keys(target).length === 0 ? {} : { targetRef: target }
}

/** The ports of a subset as a slice holds them: sorted, each with a name, which may be empty. */
function portsOf(subset: JsonObject): JsonObject[] {
  const ports = arrayAt(subset, 'ports').filter(isJsonObject)
  return sortPorts(ports.map((port) => ({ name: '', protocol: 'TCP', ...port })))
}
