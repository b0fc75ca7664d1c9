import type { ClusterEvent } from '../../../../cluster/cluster-event.ts'
import type { ClusterStore } from '../../../../cluster/cluster-store.ts'
import { type JsonObject, stringAt, valueAt } from '../../../../lib/json.ts'
import { quote } from '../../../../lib/quote.ts'
import { type Manifest, manifestError } from '../../../../manifests/manifests.ts'
import { decodeEndpointSlice } from '../../../../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../../../../resources/endpoints.ts'
import type { Decoded } from '../../../../resources/problem.ts'
import { decodeService } from '../../../../resources/service.ts'
import type { ServiceKey } from '../../../../resources/types.ts'
import { asStored } from './as-stored.ts'
import { expectedEndpoints } from './expected-endpoints.ts'

/** What manifests change in the cluster. */
export interface ClusterChanges {
  readonly events: readonly ClusterEvent[]
  /** One sentence for each thing that a reader should know of them. */
  readonly notes: readonly string[]
}

type Read = (object: JsonObject, store: Pick<ClusterStore, 'service'>) => Decoded<ClusterEvent>

/** The kinds that a node forwards by. */
const READERS: Readonly<Record<string, Read>> = {
  Service: (object, store) =>
    map(decodeService(object), (given) => ({
      kind: 'service',
      key: given.key,
      value: asStored(given, store.service(given.key), isHeadless(object)),
    })),
  EndpointSlice: (object) =>
    map(decodeEndpointSlice(object), (value) => ({
      kind: 'endpoints',
      name: nameOf(object),
      value,
    })),
  Endpoints: (object) =>
    map(decodeEndpoints(object), (value) => ({ kind: 'endpoints', name: nameOf(object), value })),
}

/** What is known of the cluster that the manifests change. */
export interface KnownCluster {
  readonly store: Pick<ClusterStore, 'service' | 'endpointSourcesOf'>
  /** The selectors of Services, by `namespace/name`. */
  readonly selectors: ReadonlyMap<string, JsonObject>
}

/**
 * The changes that applying the manifests would bring, with what controllers then make of the endpoints.
 * @throws NP_MANIFESTS_INVALID
 */
export function changesOf(
  manifests: readonly Manifest[],
  { store, selectors }: KnownCluster,
): ClusterChanges {
  const notes: string[] = []
  const expected: ClusterEvent[] = []
  const events = manifests.map((manifest) => {
    const event = readManifest(manifest, store, notes)
    const { object } = manifest
    notes.push(...missingAddress(event, isHeadless(object)))
    if (event.kind === 'service' && event.value !== undefined) {
      const selector = selectors.get(event.key)
      const follow = expectedEndpoints({ object, service: event.value, selector }, store)
      expected.push(...follow.events)
      notes.push(...follow.notes)
    }
    return event
  })
  // Slices that are among the manifests say themselves what they become.
  return { events: [...expected, ...events], notes }
}

function readManifest(
  manifest: Manifest,
  store: Pick<ClusterStore, 'service'>,
  notes: string[],
): ClusterEvent {
  const kind = stringAt(manifest.object, 'kind')
  const read = READERS[kind]
  if (read === undefined) {
    const kinds = Object.keys(READERS).join(', ')
    const message = `an object of kind ${quote(kind)}; plan knows ${kinds}`
    throw manifestError(manifest.position('kind'), message)
  }
  const object = namespaced(manifest.object)
  const found = read(object, store)
  const problems = found.ok ? found.warnings : found.problems
  const texts = problems.map(({ field, value, message }) => `${field}: ${value}: ${message}`)
  if (!found.ok) {
    const [first] = problems
    throw manifestError(manifest.position(first?.field ?? ''), texts.join('; '))
  }
  notes.push(...texts.map((text) => `${kind} ${nameOf(object)}: ${text}`))
  return found.value
}

const DELETION = /^(service|endpointslice|endpoints)\/([a-z0-9.-]+\/[a-z0-9.-]+)$/i

/** The event of `--delete KIND/NAMESPACE/NAME`; undefined: it is written otherwise. */
export function deletionOf(text: string): ClusterEvent | undefined {
  const [, kind, name] = DELETION.exec(text) ?? []
  if (kind === undefined || name === undefined) return undefined
  if (kind.toLowerCase() !== 'service') return { kind: 'endpoints', name, value: undefined }
  return { kind: 'service', key: name as ServiceKey, value: undefined }
}

function missingAddress(event: ClusterEvent, headless: boolean): readonly string[] {
  if (event.kind !== 'service' || event.value === undefined || headless) return []
  const { type, clusterIPs } = event.value
  if (type === 'ExternalName' || clusterIPs.length > 0) return []
  return [
    `Service ${event.key} is new and names no clusterIP: the API server gives it one, which plan cannot know; write spec.clusterIP to see its objects`,
  ]
}

/** As the API server reads it: an object without a namespace is in `default`. */
function namespaced(object: JsonObject): JsonObject {
  const metadata = valueAt(object, 'metadata')
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return object
  return { ...object, metadata: { namespace: 'default', ...metadata } }
}

function isHeadless(object: JsonObject): boolean {
  const several = valueAt(object, 'spec', 'clusterIPs')
  const first = Array.isArray(several) ? several[0] : undefined
  return first === 'None' || stringAt(object, 'spec', 'clusterIP') === 'None'
}

function nameOf(object: JsonObject): string {
  return `${stringAt(object, 'metadata', 'namespace')}/${stringAt(object, 'metadata', 'name')}`
}

function map<T>(decoded: Decoded<T>, make: (value: T) => ClusterEvent): Decoded<ClusterEvent> {
  return decoded.ok ? { ...decoded, value: make(decoded.value) } : decoded
}
