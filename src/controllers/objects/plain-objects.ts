import { isAggregated } from '../../auth/rbac/aggregate.ts'
import type { User } from '../../auth/user.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  stringsAt,
  valueAt,
} from '../../lib/json.ts'
import { LEADER_ELECTION } from '../../resources/label-names.ts'
import { ROOT_CA_CONFIG_MAP } from '../../resources/names.ts'
import {
  type MetadataObject,
  type ObjectMeta,
  readMeta,
  readMetadataObject,
  readStrings,
  type StringMap,
} from './object-meta.ts'

/** The fields of a v1 Endpoints object that controllers read, subsets as they are stored. */
export interface EndpointsObject {
  readonly meta: ObjectMeta
  readonly subsets: readonly JsonObject[]
}

/** Reads an Endpoints object as the API server sent it; see `readMeta` for missing fields. */
export function readEndpoints(object: JsonObject): EndpointsObject {
  return { meta: readMeta(object), subsets: arrayAt(object, 'subsets').filter(isJsonObject) }
}

/** Whether the object is a lock of a leader election, by its annotation. Such an object holds no endpoints. */
export function isElectionLock({ meta }: EndpointsObject): boolean {
  return Object.hasOwn(meta.annotations, LEADER_ELECTION)
}

/** The fields of an EndpointSlice that controllers read, ports and endpoints as they are stored. */
export interface SliceObject {
  readonly meta: ObjectMeta
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string
  readonly ports: readonly JsonObject[]
  readonly endpoints: readonly JsonObject[]
}

/** Reads an EndpointSlice as the API server sent it; see `readMeta` for missing fields. */
export function readSlice(object: JsonObject): SliceObject {
  return {
    meta: readMeta(object),
    addressType: stringAt(object, 'addressType'),
    ports: arrayAt(object, 'ports').filter(isJsonObject),
    endpoints: arrayAt(object, 'endpoints').filter(isJsonObject),
  }
}

/** The fields of a Namespace that controllers read. */
export interface NamespaceObject extends MetadataObject {
  /** `spec.finalizers`: the server keeps the Namespace until this list is empty. */
  readonly finalizers: readonly string[]
  readonly status: JsonObject
}

/** Reads a Namespace as the API server sent it; see `readMeta` for missing fields. */
export function readNamespace(object: JsonObject): NamespaceObject {
  return {
    meta: readMeta(object),
    finalizers: arrayAt(object, 'spec', 'finalizers').map(scalarText),
    status: objectAt(object, 'status'),
  }
}

/** The fields of a ClusterRole that controllers read. */
export interface ClusterRoleObject extends MetadataObject {
  /** Whether its rules are aggregated from other ClusterRoles. */
  readonly isAggregated: boolean
  /** The stored fields that aggregation depends on: name, labels, rules and `aggregationRule`. */
  readonly role: JsonObject
}

/** Reads a ClusterRole as the API server sent it; see `readMeta` for missing fields. */
export function readClusterRole(object: JsonObject): ClusterRoleObject {
  const { meta } = readMetadataObject(object)
  const aggregationRule = valueAt(object, 'aggregationRule')
  const role: JsonObject = {
    metadata: { name: meta.name, labels: objectAt(object, 'metadata', 'labels') },
    rules: arrayAt(object, 'rules'),
    ...(aggregationRule === undefined ? {} : { aggregationRule }),
  }
  return { meta, isAggregated: isAggregated(role), role }
}

/** The fields of a PodDisruptionBudget that controllers read. */
export interface BudgetObject extends MetadataObject {
  readonly generation: number
  /** The selector as it is stored; undefined: it selects no Pods. */
  readonly selector: JsonObject | undefined
  /** `spec.minAvailable` and `spec.maxUnavailable`: a number of Pods, or a share such as `50%`; undefined: not given. */
  readonly minAvailable: number | string | undefined
  readonly maxUnavailable: number | string | undefined
  readonly status: JsonObject
}

/** Reads a PodDisruptionBudget as the API server sent it; see `readMeta` for missing fields. */
export function readBudget(object: JsonObject): BudgetObject {
  const selector = valueAt(object, 'spec', 'selector')
  return {
    ...readMetadataObject(object),
    generation: Number(valueAt(object, 'metadata', 'generation') ?? 0),
    selector: isJsonObject(selector) ? selector : undefined,
    minAvailable: readLimit(object, 'minAvailable'),
    maxUnavailable: readLimit(object, 'maxUnavailable'),
    status: objectAt(object, 'status'),
  }
}

function readLimit(budget: JsonObject, field: string): number | string | undefined {
  const limit = valueAt(budget, 'spec', field)
  return typeof limit === 'number' || typeof limit === 'string' ? limit : undefined
}

/** The fields of a CertificateSigningRequest that controllers read. */
export interface SigningRequestObject extends MetadataObject {
  readonly request: SigningRequest
  /** `status.conditions` as they are stored. */
  readonly conditions: readonly JsonObject[]
  readonly isApproved: boolean
  /** Whether something is left to do: it is neither denied nor failed, and there is no certificate. */
  readonly isPending: boolean
}

/** What a user requests to have signed. */
export interface SigningRequest {
  /** `spec.request`: PEM, in base64. */
  readonly request: string
  readonly signerName: string
  readonly usages: readonly string[]
  readonly expirationSeconds: number | undefined
  /** The user who created the request. */
  readonly user: User
}

/** Reads a CertificateSigningRequest as the API server sent it; see `readMeta` for missing fields. */
export function readSigningRequest(object: JsonObject): SigningRequestObject {
  const spec = objectAt(object, 'spec')
  const conditions = arrayAt(object, 'status', 'conditions').filter(isJsonObject)
  const types = conditions.map((one) => stringAt(one, 'type'))
  const seconds = valueAt(spec, 'expirationSeconds')
  const isIssued = stringAt(object, 'status', 'certificate') !== ''
  return {
    ...readMetadataObject(object),
    request: {
      request: stringAt(spec, 'request'),
      signerName: stringAt(spec, 'signerName'),
      usages: stringsAt(spec, 'usages'),
      expirationSeconds: typeof seconds === 'number' ? seconds : undefined,
      user: { name: stringAt(spec, 'username'), groups: stringsAt(spec, 'groups') },
    },
    conditions,
    isApproved: types.includes('Approved'),
    isPending: !isIssued && !types.includes('Denied') && !types.includes('Failed'),
  }
}

/** The fields of a Lease that controllers read. */
export interface LeaseObject {
  readonly meta: ObjectMeta
  /** `spec.renewTime`, RFC 3339; empty when its holder never renewed it. */
  readonly renewedAt: string
}

/** Reads a Lease as the API server sent it; see `readMeta` for missing fields. */
export function readLease(object: JsonObject): LeaseObject {
  return { meta: readMeta(object), renewedAt: stringAt(object, 'spec', 'renewTime') }
}

/** The fields of a ConfigMap that controllers read: its metadata, and for `kube-root-ca.crt` also its data. */
export interface ConfigMapObject extends MetadataObject {
  /** Empty for any other ConfigMap. */
  readonly data: StringMap
  /** The field `immutable`: the data cannot be changed. */
  readonly isImmutable: boolean
}

/** Reads a ConfigMap as the API server sent it; see `readMeta` for missing fields. */
export function readConfigMap(object: JsonObject): ConfigMapObject {
  const { meta } = readMetadataObject(object)
  return {
    meta,
    data: meta.name === ROOT_CA_CONFIG_MAP ? readStrings(objectAt(object, 'data')) : {},
    isImmutable: valueAt(object, 'immutable') === true,
  }
}
