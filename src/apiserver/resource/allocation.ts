import type { JsonObject } from '../../lib/json.ts'
import type { Compare, Operation, Store } from '../../storage/store.ts'
import type { StatusCause } from '../status/status.ts'

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
export interface AllocationRules {
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
