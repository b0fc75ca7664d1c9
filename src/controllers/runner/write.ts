import type { ApiFailure, ApiResult } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { coreEvent, eventNamespace } from '../../resources/core-event.ts'
import type { CollectionName } from '../cache/collection-route.ts'
import type { View } from '../cache/object-cache.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'

/** A workload as it was when a write was decided. */
interface DecidedFor {
  readonly collection: 'replicasets' | 'daemonsets' | 'statefulsets' | 'jobs'
  readonly owner: WorkloadObject
}

/** What is written in addition when the server has answered, such as Events. It is not repeated if it fails. */
interface Reported {
  /** The write is made only while the caches show this workload with the same spec; else the key is reconciled again. */
  readonly decidedFor?: DecidedFor
  /** After a success; `name`: of the object, which the server may have generated. */
  readonly done?: (name: string) => readonly Write[]
  /** After a refusal that is no conflict. The key is reconciled again afterwards, as after any failure. */
  readonly refused?: (failure: ApiFailure) => readonly Write[]
}

/** A new object. */
export interface Create extends Reported {
  readonly verb: 'create'
  readonly collection: CollectionName
  readonly namespace: string
  /** Empty: the server generates a name from `generateName`. */
  readonly name: string
  readonly body: JsonObject
}

/** A change of the object as it was seen: the server refuses it if the object has another version. */
export interface Patch {
  readonly verb: 'patch'
  readonly collection: CollectionName
  readonly meta: ObjectMeta
  /** The subresource that is written: the status, the finalizers of a Namespace, or the decision on a CertificateSigningRequest. */
  readonly subresource?: 'approval' | 'status' | 'finalize'
  /** A merge patch (RFC 7396); for a status a strategic merge patch, which merges conditions by type. */
  readonly body: JsonObject
  /** The object is changed only if the server reports each of these as gone. */
  readonly absent?: readonly ObjectIdentity[]
  /** The object is changed only if the server reports that this one exists and is not being deleted. */
  readonly undeleted?: ObjectIdentity
  /**
   * Completes the body when the write is made, with what a pure reconcile cannot compute, such as a signature;
   * undefined: nothing is written.
   */
  readonly complete?: (body: JsonObject) => Promise<JsonObject | undefined>
}

/** The deletion of the object as it was seen: normally it is not deleted at any other version. */
export interface Deletion extends Reported {
  readonly verb: 'delete'
  readonly collection: CollectionName
  readonly meta: ObjectMeta
  /** The object is deleted only if the server reports each of these as gone. */
  readonly absent?: readonly ObjectIdentity[]
  /** The object is deleted only if the server reports that this one still exists. */
  readonly present?: ObjectIdentity
  /** The object is deleted only if the server has no objects of this collection in its namespace. */
  readonly emptied?: CollectionName
  /** The object is deleted after its dependents; absent: at once. */
  readonly propagation?: 'Foreground'
  /** Delete the object at any version: only its uid is compared. */
  readonly anyVersion?: true
  /** Seconds that a Pod has to end; absent: those of its spec. */
  readonly graceSeconds?: number
}

/** The binding of a Pod to a node: the server refuses it if the Pod has another version. */
export interface Bind {
  readonly verb: 'bind'
  readonly collection: 'pods'
  readonly meta: ObjectMeta
  readonly nodeName: string
}

/** An Event: written for operators, and read by no controller. */
export interface EventWrite {
  readonly verb: 'record'
  readonly namespace: string
  readonly body: JsonObject
}

/** Identifies one object. Objects that have the same name one after another differ in their uid. */
export interface ObjectIdentity {
  readonly collection: CollectionName
  readonly namespace: string
  readonly name: string
  /** Empty: any object of that name. */
  readonly uid: string
}

/**
 * The object of a collection with this key (`namespace/name`), whatever its uid. A deletion that names it as
 * `absent` is also prevented by an object that the server cannot decode: no list shows such an object, but it
 * exists.
 */
export function objectNamed(collection: CollectionName, key: string): ObjectIdentity {
  const slash = key.indexOf('/')
  return { collection, namespace: key.slice(0, slash), name: key.slice(slash + 1), uid: '' }
}

/** One change that a reconcile requires. */
export type Write = Create | Patch | Deletion | Bind | EventWrite

/** Whether the workload for which a write was decided has another spec now, is being deleted or is gone. */
export function isOutdated(write: Write, view: View): boolean {
  if (!('decidedFor' in write) || write.decidedFor === undefined) return false
  const { collection, owner } = write.decidedFor
  const now = view[collection].get(owner.meta.key)
  if (now?.meta.uid !== owner.meta.uid || now.meta.terminating !== owner.meta.terminating)
    return true
  return now.spec !== owner.spec && !isDeepEqual(now.spec, owner.spec)
}

/** The additional writes that follow from the answer to a write; none if the server could not be reached. */
export function reportsOn(write: Write, result: ApiResult<unknown>): readonly Write[] {
  if (write.verb !== 'create' && write.verb !== 'delete') return []
  const { done, refused } = write
  if (!result.ok) {
    const { code } = result.failure
    const isAnswer = code > 0 && code !== 404 && code !== 409
    return (isAnswer && refused?.(result.failure)) || []
  }
  const name = isJsonObject(result.value) ? stringAt(result.value, 'metadata', 'name') : ''
  return done?.(name) ?? []
}

/** The body that a patch is sent with; undefined: it is not sent. Rejects when `complete` does. */
export async function completeBody({ body, complete }: Patch): Promise<JsonObject | undefined> {
  return complete === undefined ? body : complete(body)
}

/** A patch of the status, which merges its conditions by type. */
export function statusPatch(
  collection: CollectionName,
  meta: ObjectMeta,
  status: JsonObject,
): Patch {
  return { verb: 'patch', collection, meta, subresource: 'status', body: { status } }
}

export interface EventContent {
  /** The name of the controller that reports the Event. */
  readonly controller: string
  /** The program that reports it; absent: named after the controller. */
  readonly component?: string
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  /** One sentence. */
  readonly message: string
}

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly meta: ObjectMeta
}

/** The write of an Event about `subject`. `now`: milliseconds since the epoch. */
export function eventWrite(subject: EventSubject, content: EventContent, now: number): EventWrite {
  const { apiVersion, kind, meta } = subject
  const { controller, component = `${controller}-controller`, type, reason, message } = content
  const { name, uid, version } = meta
  const namespace = meta.namespace || undefined
  const regarding = { apiVersion, kind, name, namespace, uid, resourceVersion: version }
  const seen = { first: now, last: now, count: 1 }
  return {
    verb: 'record',
    namespace: eventNamespace(regarding),
    body: coreEvent({
      regarding,
      type,
      reason,
      message,
      component,
      ...seen,
    }),
  }
}

/** Events about one object that may be recorded at once. */
const BURST = 25
/** The time after which one more Event about the object may be recorded, in milliseconds. */
const REFILL_MS = 300_000
/** The number of objects whose Events are counted. When there are more, the least recent one is forgotten. */
const MAX_OBJECTS = 4_096

interface Bucket {
  tokens: number
  /** Milliseconds since the epoch. */
  refilledAt: number
}

/**
 * Limits the Events of one controller about one object, as clients of Kubernetes do: 25 at once, then one in five
 * minutes. Without it, a ReplicaSet of a thousand Pods would have a thousand Events.
 */
export class EventLimit {
  readonly #clock: Pick<Clock, 'now'>
  /** By object. The object with the latest Event is the last entry. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Counts an Event. @returns whether it may be recorded */
  take({ body }: EventWrite): boolean {
    const { kind, namespace, name, uid } = objectAt(body, 'involvedObject')
    const key = JSON.stringify([stringAt(body, 'source', 'component'), kind, namespace, name, uid])
    const now = this.#clock.now()
    const bucket = this.#buckets.get(key) ?? { tokens: BURST, refilledAt: now }
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > MAX_OBJECTS && oldest !== undefined) this.#buckets.delete(oldest)
    const earned = Math.max(0, Math.floor((now - bucket.refilledAt) / REFILL_MS))
    bucket.tokens = Math.min(BURST, bucket.tokens + earned)
    bucket.refilledAt += earned * REFILL_MS
    if (bucket.tokens === 0) return false
    bucket.tokens -= 1
    return true
  }
}
