import type { JsonObject } from '../../lib/json.ts'
import type { Compare, Operation, Store } from '../../storage/store.ts'
import type { StatusCause } from '../status/status.ts'

/** An object with everything that it holds, and what its transaction must add. */
export interface AllocationPlan {
  readonly object: JsonObject
  readonly compare: readonly Compare[]
  readonly operations: readonly Operation[]
}

/** Gives objects what only one object can hold. Each allocation is a key of the store. */
export interface Allocator {
  /** Plans the write of `next`, which replaces `old` under the storage key `owner`. */
  plan(owner: string, next: JsonObject, old: JsonObject | undefined): AllocationPlan | StatusCause
  /**
   * Another object has a planned key: the cause to refuse with when the client named it in
   * `requested`, undefined when the allocator can try another key.
   */
  taken(key: string, requested: JsonObject): StatusCause | undefined
}

/** How the allocations of a kind end with its objects. */
export interface AllocationRules {
  /** What the deletion of the object under the storage key `owner` must add to its transaction. */
  readonly release: (
    store: Pick<Store, 'get'>,
    owner: string,
    object: JsonObject,
  ) => Promise<readonly Operation[]>
  /** The keys in the name of `owner`, for an object that cannot be read. */
  readonly keysOf: (store: Pick<Store, 'list'>, owner: string) => Promise<readonly string[]>
}
