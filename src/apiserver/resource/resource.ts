import type { TokenReviews } from '../../auth/authentication/token-reviewer.ts'
import type { Authorizer, WriterAccess } from '../../auth/rbac/authorizer.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuer.ts'
import type { User } from '../../auth/user.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { Reader } from '../../resources/reader.ts'
import type { Compare, Operation, Store } from '../../storage/store.ts'
import type { StatusCause, StatusError } from '../status/status.ts'
import type { Column } from './column.ts'
import type {
  ContainerRules,
  DeletionRules,
  ExpiryRules,
  SelectableFields,
} from './lifecycle-rules.ts'
import type { ObjectRules } from './object-rules.ts'

/** The dependencies for answering a review. */
export interface ReviewContext {
  /** The user that the request acts as. */
  readonly user: User
  readonly authorizer: Authorizer
  readonly tokens: TokenReviews
}

/**
 * Answers a review: a question about users or permissions that is sent as an object and not stored.
 * @returns the `status` of the answer, or why there is none
 */
export type Review = (
  context: ReviewContext,
  question: JsonObject,
) => JsonObject | StatusError | Promise<JsonObject | StatusError>

/** One resource: a kind of object, how it is stored, and its rules. */
export interface Resource extends ObjectRules {
  readonly plural: string
  readonly singular: string
  readonly kind: string
  /** Absent: none. */
  readonly shortNames?: readonly string[]
  /** Absent: none. */
  readonly categories?: readonly string[]
  readonly namespaced: boolean
  /** The versions in which it is served; objects are stored in the first one. */
  readonly versions: readonly ResourceVersion[]
  /** Absent: the resource has no status subresource, and `status` is an ordinary field. */
  readonly status?: StatusRules
  /** Absent: clients may write all fields except the metadata and status that the server writes. */
  readonly reserved?: ReservedFields
  /** Subresources that can be read; absent: none. */
  readonly derived?: readonly DerivedSubresource[]
  /** Subresources that answer POST; absent: none. */
  readonly answered?: readonly AnsweredSubresource[]
  /** Subresources that answer POST and change the object; absent: none. */
  readonly actions?: readonly ActionSubresource[]
  /** Present: its objects are deleted within budgets by a subresource that answers POST. */
  readonly evicted?: EvictionRules
  /** Subresources that are streams of bytes; absent: none. */
  readonly streamed?: readonly StreamedSubresource[]
  /** Present: an object stands for a machine, and requests below this subresource are forwarded to it. */
  readonly proxied?: ProxiedSubresource
  /** Present: its objects run on the machines that objects of this kind stand for. */
  readonly runsOn?: Resource
  /** Present: its objects are answered and never stored. */
  readonly review?: Review
  /** Present: its number of replicas can be read and written through the subresource `scale`. */
  readonly scale?: ScaledResource
  /** Present: the audit log never shows its objects. */
  readonly isConfidential?: true
  /** Present: clients may get, list and watch; only the server writes. */
  readonly isReadOnly?: true
  /** Present: a collection of them cannot be deleted in one request. */
  readonly deletedOneByOne?: true
  /** Present: the answer to a deletion is its last state; other kinds answer with a Status. */
  readonly returnsDeleted?: true
  /** Present: its objects hold addresses or ports that no other object may hold. */
  readonly allocation?: AllocationRules
  /** The rules between an object and other objects of the cluster; absent: none. */
  readonly checkAmong?: AmongOthers
  /** A check of the writer beyond the permission for the verb: why this user may not write `next`; absent: none. */
  readonly checkWriter?: WriterCheck
  /**
   * Completes a new object from other objects before it is validated, if the server knows users; absent:
   * nothing is added.
   */
  readonly complete?: Completion
  /** The warnings to the writer of an accepted object; absent: none. */
  readonly warnings?: (next: JsonObject, old: JsonObject | undefined) => readonly string[]
  /** Absent: an object without finalizers is removed at once. */
  readonly deletion?: DeletionRules
  /** Present: its objects contain the namespaced objects of all kinds. */
  readonly container?: ContainerRules
  /** Present: its objects do not delay the deletion of their namespace; the server removes them with it. */
  readonly goesWithNamespace?: true
  /** Present: its objects own no others, and a deletion has no dependents to consider. */
  readonly ownsNothing?: true
  /** Absent: objects do not expire. */
  readonly expiry?: ExpiryRules
  /** Present: PUT of a missing object creates it. */
  readonly createOnUpdate?: true
  /** Present: an update must name the version that it replaces; an update of a subresource need not. */
  readonly updateNeedsVersion?: true
  /** Present: `metadata.generation` counts the changes outside metadata and status. */
  readonly countsGenerations?: true
  /** The fields by which objects can be selected, beside name and namespace; absent: none. */
  readonly fields?: (object: JsonObject) => SelectableFields
  readonly columns: readonly Column[]
}

/** The kind whose objects contain the namespaced objects of all kinds. */
export interface ContainerResource extends Resource {
  readonly container: ContainerRules
}

interface StatusRules {
  /** `status` of a new object, given what the client sent; undefined: none. */
  readonly initial: (sent: Json | undefined) => Json | undefined
}

/** Fields that are written only through their own subresource, or only by the server. */
export interface ReservedFields {
  /** The subresource that accepts PUT and PATCH of the object with these fields. */
  readonly subresource: string
  /** The next state with these fields as in `old`; `old` undefined: as in a new object. */
  readonly keep: (next: JsonObject, old: JsonObject | undefined) => JsonObject
  /**
   * The next state after a request to the subresource, `now` in milliseconds since the epoch; absent: it is what was
   * sent, with the status of `old`.
   */
  readonly take?: (sent: JsonObject, old: JsonObject, now: number) => JsonObject
}

/** Reads other objects from the caches, for the code of a kind. */
export interface ObjectReader {
  /** Undefined: the object does not exist. `namespace` is empty for a cluster-scoped resource. */
  get(resource: StoredResource, namespace: string, name: string): JsonObject | undefined
  /** In key order, each decoded when it is reached; an empty namespace means all. */
  list(resource: Resource, namespace: string): Iterable<JsonObject>
  /** The storage keys of the objects that cannot be read. */
  unreadable(resource: Resource): Iterable<string>
}

/** Why `next` conflicts with other objects; undefined: it does not. `old`: the object that it replaces. */
type AmongOthers = (
  objects: ObjectReader,
  next: JsonObject,
  old: JsonObject | undefined,
) => StatusCause | undefined

/**
 * Why a user may not write an object; undefined: it may. `old`: the object that `next` replaces; undefined: it
 * is new. For a deletion `next` is `old`.
 */
export type WriterCheck = (
  writer: WriterAccess,
  next: JsonObject,
  old: JsonObject | undefined,
) => StatusError | undefined

/** The inputs for completing an object. */
export interface CompletionInput {
  /** The user who creates it. */
  readonly user: User
  readonly objects: ObjectReader
  /** The namespace of the new object, which may not contain it. */
  readonly namespace: string
  readonly random: Random
}

/**
 * Returns the completed object, which is then validated, or the reason of a 403. `next` has its defaults, but
 * may still have fields of wrong types, which validation rejects.
 */
type Completion = (input: CompletionInput, next: JsonObject) => JsonObject | CreationRefusal

/** Why an object may not be created. */
export class CreationRefusal {
  readonly why: string
  /** The object whose absence is the reason; undefined: something else is. */
  readonly missing: MissingObject | undefined

  constructor(why: string, missing?: MissingObject) {
    this.why = why
    this.missing = missing
  }
}

/** An object that another one needs. */
export interface MissingObject {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  /** Whether a controller is expected to create it, so that waiting for it makes sense. */
  readonly isExpected: boolean
}

/** A read-only subresource that the server computes from an object and other objects. */
export interface DerivedSubresource {
  readonly name: string
  readonly kind: string
  /** The fields of the answer other than its type and the object's metadata. */
  readonly derive: (objects: ObjectReader, object: JsonObject) => Promise<JsonObject>
}

/** The dependencies for answering an `AnsweredSubresource`. */
export interface AnswerContext {
  /** The user of the request. */
  readonly user: User
  /** The objects at the newest revision. */
  readonly objects: ObjectReader
  /** Undefined: the server issues no tokens. */
  readonly issuance: TokenIssuance | undefined
}

/** A subresource that accepts POST of its own kind of document. */
export interface PostedSubresource {
  readonly name: string
  readonly type: { readonly group: string; readonly version: string; readonly kind: string }
  /** Reports to the reader why a document is invalid. */
  readonly validate: (document: Reader) => void
}

/** A subresource whose document changes the object; the answer is a Status. */
export interface ActionSubresource extends PostedSubresource {
  /** The next state of the object, or why there is none. `now`: milliseconds since the epoch. */
  readonly apply: (
    object: JsonObject,
    document: JsonObject,
    now: number,
  ) => JsonObject | StatusError
}

/** How the objects of a kind are evicted. */
export interface EvictionRules extends PostedSubresource {
  /** Versions of the document that old clients send, in addition to that of `type`. */
  readonly olderVersions: readonly string[]
  /** The kind of the budgets, which are in the namespace of the object. */
  readonly budgets: Resource
  readonly decide: (object: JsonObject, budgets: Iterable<JsonObject>) => EvictionDecision
  /** The object with the reason of its deletion. `now`: milliseconds since the epoch. */
  readonly announced: (object: JsonObject, now: number) => JsonObject
}

/** Whether an object may be evicted: without a budget, with one that is spent on it, or not. */
export type EvictionDecision =
  | 'permitted'
  | {
      /** The name of the budget. */
      readonly budget: string
      /** The next state of the budget, or why it permits no eviction. */
      readonly spend: (budget: JsonObject, now: number) => JsonObject | StatusError
    }
  | StatusError

/** A subresource whose document is answered and not stored. */
export interface AnsweredSubresource extends PostedSubresource {
  /** `spec` and `status` of the answer, or why there is none. */
  readonly answer: (
    context: AnswerContext,
    object: JsonObject,
    document: JsonObject,
  ) => Promise<JsonObject | StatusError>
}

/** A subresource whose answer is a stream; the route table has its handler. */
export interface StreamedSubresource {
  readonly name: 'log' | 'exec' | 'attach' | 'portforward'
  /** The kind of its options, or of the object. */
  readonly kind: string
  readonly methods: readonly ('GET' | 'POST')[]
}

/** A subresource below which requests are forwarded to the machine that the object stands for. */
interface ProxiedSubresource {
  readonly name: 'proxy'
  /** The kind of its options. */
  readonly kind: string
}

/** A resource that has `spec.replicas` and `status.replicas`. */
export interface ScaledResource {
  /** The labels of its Pods as the text of a query; empty: none. */
  readonly selector: (object: JsonObject) => string
}

interface ResourceVersion {
  readonly group: string
  readonly version: string
  /** Rewrites a stored object, but never its metadata, for this version; absent when nothing differs. */
  readonly fromStored?: (object: JsonObject) => JsonObject
  /** Rewrites a received object into stored form; absent when nothing differs. */
  readonly toStored?: (object: JsonObject) => JsonObject
  /** The path in stored form of a field of this version, such as `a.b`; absent when nothing differs. */
  readonly storedField?: (path: string) => string
}

/** One resource in one group and version, as a URL names it. */
export interface ServedVersion extends ResourceVersion {
  readonly resource: Resource
}

/** `apiVersion` of a served version: `group/version`, or `v1` of the core group. */
export function apiVersionOf(served: { readonly group: string; readonly version: string }): string {
  return served.group === '' ? served.version : `${served.group}/${served.version}`
}

/** The served versions of a resource, in the order in which it declares them. */
export function servedVersionsOf(resource: Resource): readonly ServedVersion[] {
  return resource.versions.map((version) => ({ ...version, resource }))
}

/** The properties that determine the storage keys of objects. */
export type StoredResource = Pick<Resource, 'plural' | 'namespaced'>

/** The prefix of the storage keys of a resource, or of its objects in one namespace. */
export function storagePrefix(resource: StoredResource, namespace = ''): string {
  return namespace === '' ? `/${resource.plural}/` : `/${resource.plural}/${namespace}/`
}

/** The key of an object in the store. */
export function storageKey(resource: StoredResource, namespace: string, name: string): string {
  return `${storagePrefix(resource, resource.namespaced ? namespace : '')}${name}`
}

/** An object with all its allocations, and the operations that they add to its transaction. */
export interface AllocationPlan {
  readonly object: JsonObject
  readonly compare: readonly Compare[]
  readonly operations: readonly Operation[]
}

/** Allocates values, such as addresses, that only one object may have. Each allocation is a key of the store. */
export interface Allocator {
  /** Plans the write of `next`, which replaces `old` under the storage key `owner`. */
  plan(owner: string, next: JsonObject, old: JsonObject | undefined): AllocationPlan | StatusCause
  /**
   * Another object has a planned key: the cause to refuse with when the client named it in
   * `requested`, undefined when the allocator can try another key.
   */
  taken(key: string, requested: JsonObject): StatusCause | undefined
}

/** How the allocations of a kind are released with its objects. */
interface AllocationRules {
  /**
   * The operations that release the allocations of the object with the storage key `owner`, for the transaction
   * that deletes it.
   */
  readonly release: (
    store: Pick<Store, 'get'>,
    owner: string,
    object: JsonObject,
  ) => Promise<readonly Operation[]>
  /** The keys of the allocations that name `owner`, for an unreadable object. */
  readonly keysOf: (store: Pick<Store, 'list'>, owner: string) => Promise<readonly string[]>
}

/**
 * The versions of a resource whose group has two names: that of Kubernetes, which
 * is listed first and has the short names, and ours. Nothing else differs.
 */
export function aliasVersions(group: string, version: string): readonly ResourceVersion[] {
  return [
    { group: `${group}.k8s.io`, version },
    { group: `${group}.orch.io`, version },
  ]
}
