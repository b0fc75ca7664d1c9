import type { Identity } from './identity.ts'
import { readIdentity } from './identity.ts'

/** The result of decoding a raw object; `value` is undefined if the object is to be ignored. */
export type Projection<T, Problem> =
  | { readonly ok: true; readonly value: T | undefined }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The change of one object; `value` is undefined if it was deleted. */
export interface Change<T> {
  readonly key: string
  readonly value: T | undefined
}

export interface ObjectTrackerOptions<T, Problem> {
  /** Decodes a raw object. */
  decode(raw: unknown): Projection<T, Problem>
  /** Called for an object that could not be decoded; `key` is empty if it has no usable name. */
  onInvalid(key: string, problems: readonly Problem[]): void
}

/**
 * Tracks which objects exist (their keys, not their values), and turns lists and watch events into changes. An object
 * that cannot be decoded, or is to be ignored, counts as deleted. So the result depends only on the server's present
 * objects, not on earlier ones.
 */
export class ObjectTracker<T, Problem> {
  readonly #options: ObjectTrackerOptions<T, Problem>
  /** The listing in which each present object was last seen. */
  readonly #seen = new Map<string, number>()
  /** The same for objects that exist but could not be decoded. */
  readonly #rejected = new Map<string, number>()
  #listing = 0
  #changes: Change<T>[] = []

  constructor(options: ObjectTrackerOptions<T, Problem>) {
    this.#options = options
  }

  /** The number of objects that exist and could be decoded. */
  get size(): number {
    return this.#seen.size
  }

  /** The number of objects with a usable name that exist but could not be decoded. */
  get rejected(): number {
    return this.#rejected.size
  }

  /** Keys of the objects that exist and could be decoded. */
  keys(): Iterable<string> {
    return this.#seen.keys()
  }

  /** The object was listed, added or modified. */
  put(raw: unknown, identity: Identity | undefined = readIdentity(raw)): void {
    const projection = this.#options.decode(raw)
    if (!projection.ok) this.#options.onInvalid(identity?.key ?? '', projection.problems)
    if (identity === undefined) return
    const value = projection.ok ? projection.value : undefined
    if (value === undefined) this.remove(identity.key)
    if (!projection.ok) this.#rejected.set(identity.key, this.#listing)
    else if (value !== undefined) {
      this.#rejected.delete(identity.key)
      this.#seen.set(identity.key, this.#listing)
      this.#changes.push({ key: identity.key, value })
    }
  }

  /** The object was deleted. */
  remove(key: string): void {
    this.#rejected.delete(key)
    if (this.#seen.delete(key)) this.#changes.push({ key, value: undefined })
  }

  /** A complete list begins. */
  beginListing(): void {
    this.#listing++
  }

  /** The list is complete: objects that are not in it were deleted. */
  endListing(): void {
    for (const known of [this.#seen, this.#rejected]) {
      for (const [key, listing] of known) if (listing !== this.#listing) this.remove(key)
    }
  }

  /** The changes since the last call, in their order. */
  take(): readonly Change<T>[] {
    const changes = this.#changes
    this.#changes = []
    return changes
  }
}
