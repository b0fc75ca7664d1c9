import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  mergePatch,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { type CollectionName, perCollection } from '../cache/collection-route.ts'
import { COLLECTIONS, type Objects } from '../cache/collections.ts'
import type { View } from '../cache/object-cache.ts'
import { keyOf, type ObjectMeta, readMeta } from '../objects/object-meta.ts'
import type { FollowHandlers, ObjectFollower } from '../runner/object-follower.ts'
import type { ObjectWriter } from '../runner/object-writer.ts'
import { SharedCollection } from '../runner/runner.ts'
import { completeBody, type Deletion, type ObjectIdentity, type Write } from '../runner/write.ts'
import { withConditions } from './with-conditions.ts'

type Deliver = () => void

/** An API server of a few objects: compares versions, and notifies its watchers on request. */
export interface FakeCluster {
  readonly follower: ObjectFollower
  readonly writer: ObjectWriter
  /** The objects that the watches have delivered, as reconciles see them. */
  readonly view: View
  /** Writes that reached the server, as `verb collection/key`, `bind pods/key node` or `record reason namespace/name`. */
  readonly log: string[]
  /** A write of another client; undefined deletes. */
  put(collection: CollectionName, object: JsonObject): void
  remove(collection: CollectionName, key: string): void
  /** As `put`, but delivered at once even while other events are held back. */
  notify(collection: CollectionName, object: JsonObject): void
  get(collection: CollectionName, key: string): JsonObject | undefined
  all(collection: CollectionName): readonly JsonObject[]
  /** From now on the watches deliver nothing until `release`. */
  hold(): void
  release(): void
  /** Lists everything again, as after a reconnect. */
  relist(): void
  /** Whether the watches report that they are open. */
  isConnected: boolean
  /** Decides the result of a write before it is made; undefined: as the server would. */
  intercept: (write: Write) => Promise<ApiResult<unknown> | undefined>
}

export function refusal(code: number, message = 'refused'): ApiResult<never> {
  return { ok: false, failure: statusFailure(code, { kind: 'Status', reason: 'Because', message }) }
}

/** `clock`: dates the heartbeats in `view`. */
export function createFakeCluster(clock: Pick<Clock, 'now'> = new FakeClock()): FakeCluster {
  const objects = new Map<string, JsonObject>()
  const watchers = new Map<string, FollowHandlers<never>[]>()
  const log: string[] = []
  let [revision, serial] = [0, 0]
  let held: Deliver[] | undefined

  function notify(collection: CollectionName, key: string, object: JsonObject | undefined): void {
    const value = object && COLLECTIONS[collection].decode(object)
    const deliver = (): void => {
      for (const watcher of watchers.get(collection) ?? []) {
        watcher.changed([{ key, value: value as never }])
      }
    }
    if (held) held.push(deliver)
    else deliver()
  }

  function store(collection: CollectionName, object: JsonObject): JsonObject {
    const { key } = readMeta(object)
    const metadata = { uid: `uid-${++serial}`, ...objectAt(object, 'metadata') }
    const stored = { ...object, metadata: { ...metadata, resourceVersion: String(++revision) } }
    objects.set(`${collection} ${key}`, stored)
    notify(collection, key, stored)
    return stored
  }

  function remove(collection: CollectionName, key: string): void {
    revision++
    if (objects.delete(`${collection} ${key}`)) notify(collection, key, undefined)
  }

  function all(collection: CollectionName): readonly JsonObject[] {
    const found = [...objects].filter(([key]) => key.startsWith(`${collection} `))
    return found.map(([, object]) => object)
  }

  function follow<K extends CollectionName>(
    collection: K,
    handlers: FollowHandlers<Objects[K]>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<void>()
    watchers.set(collection, [...(watchers.get(collection) ?? []), handlers])
    signal.addEventListener('abort', () => resolve())
    list(collection, handlers)
    return promise
  }

  function list<K extends CollectionName>(name: K, handlers: FollowHandlers<Objects[K]>): void {
    const { decode } = COLLECTIONS[name]
    handlers.changed(all(name).map((one) => ({ key: readMeta(one).key, value: decode(one) })))
    handlers.listed(String(revision))
  }

  function isPresent({ collection, namespace, name, uid }: ObjectIdentity): boolean {
    const found = objects.get(`${collection} ${keyOf({ namespace, name })}`)
    return found !== undefined && (uid === '' || readMeta(found).uid === uid)
  }

  function isTerminating({ collection, namespace, name }: ObjectIdentity): boolean {
    const found = objects.get(`${collection} ${keyOf({ namespace, name })}`)
    return found !== undefined && readMeta(found).terminating
  }

  function isFull({ emptied, meta: { namespace } }: Deletion): boolean {
    return (
      emptied !== undefined && all(emptied).some((one) => readMeta(one).namespace === namespace)
    )
  }

  function apply(write: Write): ApiResult<unknown> {
    if (write.verb === 'record') return { ok: true, value: write.body }
    const { collection } = write
    if (write.verb === 'create') {
      const name = write.name || `${stringAt(write.body, 'metadata', 'generateName')}${++serial}`
      if (objects.has(`${collection} ${write.namespace}/${name}`)) return refusal(409, 'exists')
      const metadata = without(objectAt(write.body, 'metadata'), 'generateName')
      return {
        ok: true,
        value: store(collection, { ...write.body, metadata: { ...metadata, name } }),
      }
    }
    const { key, uid, version } = write.meta
    const known = objects.get(`${collection} ${key}`)
    if (known === undefined) return refusal(404)
    const meta = readMeta(known)
    const isAnyVersion = write.verb === 'delete' && write.anyVersion === true
    if (meta.uid !== uid || (!isAnyVersion && meta.version !== version)) {
      return refusal(409, 'modified')
    }
    if (write.verb === 'delete') {
      if (write.absent?.some(isPresent) || isFull(write)) return refusal(409, 'still there')
      if (write.present && !isPresent(write.present)) return refusal(409, 'not there')
      const kept = keptAfter(write, known)
      if (kept !== undefined) return { ok: true, value: store(collection, kept) }
      remove(collection, key)
      return { ok: true, value: {} }
    }
    if (write.verb === 'bind') {
      if (stringAt(known, 'spec', 'nodeName') !== '') return refusal(409, 'already bound')
      return { ok: true, value: store(collection, boundTo(write.nodeName, known)) }
    }
    if (write.absent?.some(isPresent)) return refusal(409, 'still there')
    const { undeleted } = write
    if (undeleted && (!isPresent(undeleted) || isTerminating(undeleted))) {
      return refusal(409, 'not there')
    }
    const patched = withConditions(known, mergePatch(known, write.body))
    if (write.subresource === 'finalize' && arrayAt(patched, 'spec', 'finalizers').length === 0) {
      remove(collection, key)
      return { ok: true, value: known }
    }
    const next = isJsonObject(patched) ? patched : {}
    if (isUnheld(meta, next)) {
      remove(collection, key)
      return { ok: true, value: next }
    }
    return { ok: true, value: store(collection, next) }
  }

  const cluster: Omit<FakeCluster, 'view'> = {
    log,
    follower: { follow, isConnected: () => cluster.isConnected },
    writer: {
      async write(write) {
        log.push(describe(write))
        const refused = await cluster.intercept(write)
        if (refused !== undefined) return refused
        if (write.verb !== 'patch') return apply(write)
        const body = await completeBody(write)
        return body === undefined ? { ok: true, value: undefined } : apply({ ...write, body })
      },
      async read(collection, namespace, name) {
        log.push(`read ${collection}/${namespace}/${name}`)
        const object = objects.get(`${collection} ${keyOf({ namespace, name })}`)
        return object ? { ok: true, value: object } : refusal(404)
      },
    },
    put: (collection, object) => void store(collection, object),
    remove,
    notify(collection, object) {
      const waiting = held
      held = undefined
      store(collection, object)
      held = waiting
    },
    get: (collection, key) => objects.get(`${collection} ${key}`),
    all,
    hold: () => (held ??= []),
    release() {
      const waiting = held ?? []
      held = undefined
      for (const deliver of waiting) deliver()
    },
    relist() {
      for (const [name, handlers] of watchers) {
        for (const one of handlers) list(name as CollectionName, one as FollowHandlers<unknown>)
      }
    },
    isConnected: true,
    intercept: async () => undefined,
  }
  return Object.assign(cluster, { view: viewOf(cluster.follower, clock) })
}

/** Whether an object that is being deleted lost the last finalizer, and has no time to end. */
function isUnheld({ finalizers, terminating }: ObjectMeta, next: JsonObject): boolean {
  const grace = valueAt(next, 'metadata', 'deletionGracePeriodSeconds') ?? 0
  return (
    terminating && finalizers.length > 0 && grace === 0 && readMeta(next).finalizers.length === 0
  )
}

/** The object as a deletion leaves it if it is only marked: one with finalizers, or a Pod on a node that has not ended. */
function keptAfter({ collection, graceSeconds, propagation }: Deletion, object: JsonObject) {
  const finalizers = [
    ...readMeta(object).finalizers,
    ...(propagation === undefined ? [] : ['foregroundDeletion']),
  ]
  const hasEnded = ['Succeeded', 'Failed'].includes(stringAt(object, 'status', 'phase'))
  const isAtWork = collection === 'pods' && stringAt(object, 'spec', 'nodeName') !== '' && !hasEnded
  const grace = isAtWork ? (graceSeconds ?? 30) : 0
  if (finalizers.length === 0 && grace === 0) return undefined
  const deletionTimestamp = '2026-01-03T00:00:00Z'
  const mark = { deletionTimestamp, deletionGracePeriodSeconds: grace, finalizers }
  return { ...object, metadata: { ...objectAt(object, 'metadata'), ...mark } }
}

function boundTo(nodeName: string, pod: JsonObject): JsonObject {
  const conditions = [{ type: 'PodScheduled', status: 'True', reason: null, message: null }]
  const bound = { ...pod, spec: { ...objectAt(pod, 'spec'), nodeName } }
  const patched = withConditions(pod, mergePatch(bound, { status: { conditions } }))
  return isJsonObject(patched) ? patched : bound
}

function describe(write: Write): string {
  if (write.verb === 'record') {
    const { reason = '', involvedObject } = write.body
    const about = [stringAt(involvedObject, 'namespace'), stringAt(involvedObject, 'name')]
    return `record ${scalarText(reason)} ${about.filter((part) => part !== '').join('/')}`
  }
  const key = write.verb === 'create' ? `${write.namespace}/${write.name}` : write.meta.key
  const target = write.verb === 'bind' ? ` ${write.nodeName}` : ''
  return `${write.verb} ${write.collection}/${key}${target}`
}

function viewOf(follower: ObjectFollower, clock: Pick<Clock, 'now'>): View {
  const { signal } = new AbortController()
  const shared = <K extends CollectionName>(name: K): SharedCollection<K>['cache'] => {
    const collection = new SharedCollection(name, () => undefined, clock)
    void collection.follow(follower, () => undefined, signal)
    return collection.cache
  }
  return perCollection(shared) as View
}
