import type { TokenReviews } from '../../auth/authentication/token-reviewer.ts'
import type { Authorizer } from '../../auth/rbac/authorizer.ts'
import type { WriterAccess } from '../../auth/rbac/writer-access.ts'
import type { TokenIssuance } from '../../auth/tokens/token-issuance.ts'
import type { User } from '../../auth/user.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import type { Reader } from '../../resources/reader.ts'
import type { StatusCause, StatusError } from '../status/status.ts'
import type { AllocationRules } from './allocation.ts'
import type { Column } from './column.ts'
import type { ContainerRules, DeletionRules, ExpiryRules, SelectableFields } from './deletion.ts'
import type { ObjectRules } from './object-rules.ts'

/** What a review is answered from. */
export interface ReviewContext {
  /** As whom the request acts. */
  readonly user: User
  readonly authorizer: Authorizer
  readonly tokens: TokenReviews
}

/**
 * Answers a question about users or permissions, which is sent as an object and stored nowhere.
 * @returns the `status` of the answer, or why there is none
 */
export type Review = (
  context: ReviewContext,
  question: JsonObject,
) => JsonObject | StatusError | Promise<JsonObject | StatusError>

/** One resource: a kind of object, how it is stored and what is special about it. */
export interface Resource extends ObjectRules {
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** The versions that it is served under; the first one is how objects are stored. */
  readonly versions: readonly ResourceVersion[]
  /** Absent: the resource has no status subresource and nothing is special about `status`. */
  readonly status?: StatusRules
  /** Absent: clients may write everything but metadata and status of the server. */
  readonly reserved?: ReservedFields
  /** What else can be read of an object; absent: nothing. */
  readonly derived?: readonly DerivedSubresource[]
  /** What can be requested of an object by POST; absent: nothing. */
  readonly answered?: readonly AnsweredSubresource[]
  /** What of an object is a stream of bytes; absent: nothing. */
  readonly streamed?: readonly StreamedSubresource[]
  /** Present: an object stands for a machine, and requests below this subresource are forwarded to it. */
  readonly proxied?: ProxiedSubresource
  /** Present: its objects are questions, which are answered and never stored. */
  readonly review?: Review
  /** Present: the number of its replicas can be read and written through the subresource `scale`. */
  readonly scale?: ScaledResource
  /** Present: the audit log never shows its objects. */
  readonly isConfidential?: true
  /** Present: clients may get, list and watch, and the server alone writes. */
  readonly isReadOnly?: true
  /** Present: a collection of them cannot be deleted in one request. */
  readonly deletedOneByOne?: true
  /** Present: the answer to a deletion is its last state; other kinds answer with a Status. */
  readonly returnsDeleted?: true
  /** Present: its objects hold addresses or ports that no other object may hold. */
  readonly allocation?: AllocationRules
  /** What an object must satisfy beside the other objects of the cluster; absent: nothing. */
  readonly checkAmong?: AmongOthers
  /** What the verb alone does not permit: why this user may not write `next`; absent: nothing. */
  readonly checkWriter?: WriterCheck
  /**
   * What a new object gets from other objects before it is validated, where the server knows
   * users; absent: nothing.
   */
  readonly complete?: Completion
  /** What the server warns the writer of an accepted object about; absent: nothing. */
  readonly warnings?: (next: JsonObject, old: JsonObject | undefined) => readonly string[]
  /** Absent: objects are removed when no finalizer keeps them. */
  readonly deletion?: DeletionRules
  /** Present: its objects contain the namespaced objects of all kinds. */
  readonly container?: ContainerRules
  /** Present: its objects never keep their namespace, and the server removes them with it. */
  readonly goesWithNamespace?: true
  /** Present: its objects own no others, and a deletion has no dependents to consider. */
  readonly ownsNothing?: true
  /** Absent: objects stay until a client deletes them. */
  readonly expiry?: ExpiryRules
  /** Whether PUT of a missing object creates it. */
  readonly createOnUpdate: boolean
  /** Whether an update must name the version that it replaces; one of a subresource need not. */
  readonly updateNeedsVersion: boolean
  /** Whether `metadata.generation` counts the changes outside metadata and status. */
  readonly countsGenerations: boolean
  readonly fields: (object: JsonObject) => SelectableFields
  readonly columns: readonly Column[]
}

/** The kind whose objects contain the namespaced objects of all kinds. */
export interface ContainerResource extends Resource {
  readonly container: ContainerRules
}

export interface StatusRules {
  /** `status` of a new object, given what the client sent; undefined: none. */
  readonly initial: (sent: Json | undefined) => Json | undefined
}

/** Fields that are written through a subresource of their own, or by the server alone. */
export interface ReservedFields {
  /** Takes PUT and PATCH of the object with these fields. */
  readonly subresource: string
  /** The next state with these fields as they stay; `old` undefined: as a new object has them. */
  readonly keep: (next: JsonObject, old: JsonObject | undefined) => JsonObject
}

/** The other objects that a kind may read, as the caches show them. */
export interface ObjectReader {
  /** Undefined: there is none. `namespace` is empty for a cluster-scoped resource. */
  get(resource: StoredResource, namespace: string, name: string): JsonObject | undefined
  /** In key order, each decoded when it is reached; an empty namespace means all. */
  list(resource: Resource, namespace: string): Iterable<JsonObject>
  /** The storage keys of the objects that cannot be read. */
  unreadable(resource: Resource): Iterable<string>
}

/** Why `next` may not stand beside the other objects; undefined: it may. `old` is what it replaces. */
export type AmongOthers = (
  objects: ObjectReader,
  next: JsonObject,
  old: JsonObject | undefined,
) => StatusCause | undefined

/**
 * Why a user may not write an object, as 403 or as what it needs; undefined: it may. `old` is what
 * it replaces; undefined: it is new. Who removes an object writes it as it is: `next` is `old`.
 */
export type WriterCheck = (
  writer: WriterAccess,
  next: JsonObject,
  old: JsonObject | undefined,
) => StatusError | undefined
/** What the completion of an object may use. */
export interface CompletionInput {
  readonly objects: ObjectReader
  /** Of the new object, which may not say it itself. */
  readonly namespace: string
  readonly random: Random
}

/**
 * The new object as it is to be validated, or the reason of a 403. `next`
 * has its defaults, but fields of wrong types, too, which validation rejects.
 */
export type Completion = (input: CompletionInput, next: JsonObject) => JsonObject | CreationRefusal

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
  /** Whether a controller creates it by itself, so that it is worth waiting for. */
  readonly isExpected: boolean
}

/** A read-only subresource that the server computes from an object and other objects. */
export interface DerivedSubresource {
  readonly name: string
  readonly kind: string
  /** The fields of the answer, beside its type and the object's metadata. */
  readonly derive: (objects: ObjectReader, object: JsonObject) => Promise<JsonObject>
}

/** What the server answers such a request from. */
export interface AnswerContext {
  /** Who requests it. */
  readonly user: User
  /** As the newest revision has them. */
  readonly objects: ObjectReader
  /** Undefined: the server issues no tokens. */
  readonly issuance: TokenIssuance | undefined
}

/** A subresource that takes POST of a document of its own, which is answered and stored nowhere. */
export interface AnsweredSubresource {
  readonly name: string
  readonly type: { readonly group: string; readonly version: string; readonly kind: string }
  /** Reports to the reader why a document is invalid. */
  readonly validate: (document: Reader) => void
  /** `spec` and `status` of the answer, or why there is none. */
  readonly answer: (
    context: AnswerContext,
    object: JsonObject,
    document: JsonObject,
  ) => Promise<JsonObject | StatusError>
}

/** A subresource whose answer is a stream: the route table knows what serves it. */
export interface StreamedSubresource {
  readonly name: 'log' | 'exec' | 'attach' | 'portforward'
  /** The kind of its options, or of the object. */
  readonly kind: string
  readonly methods: readonly ('GET' | 'POST')[]
}

/** A subresource whose paths are those of the machine that the object stands for. */
export interface ProxiedSubresource {
  readonly name: 'proxy'
  /** The kind of its options. */
  readonly kind: string
}

/** A resource that has `spec.replicas` and `status.replicas`. */
export interface ScaledResource {
  /** The labels of its Pods as the text of a query; empty: none. */
  readonly selector: (object: JsonObject) => string
}

export interface ResourceVersion {
  readonly group: string
  readonly version: string
  /** Rewrites a stored object, but never its metadata, for this version; absent when nothing differs. */
  readonly fromStored?: (object: JsonObject) => JsonObject
  /** Rewrites a received object into stored form; absent when nothing differs. */
  readonly toStored?: (object: JsonObject) => JsonObject
}

/** One resource under one group and version: what a URL names. */
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

/** What the key of an object depends on. */
export type StoredResource = Pick<Resource, 'plural' | 'namespaced'>

/** Where all objects of a resource are stored, and those of one namespace. */
export function storagePrefix(resource: StoredResource, namespace = ''): string {
  return namespace === '' ? `/${resource.plural}/` : `/${resource.plural}/${namespace}/`
}

/** The key of an object in the store. */
export function storageKey(resource: StoredResource, namespace: string, name: string): string {
  return `${storagePrefix(resource, resource.namespaced ? namespace : '')}${name}`
}
