import type { Identity } from './identity.ts'
import { readIdentity } from './identity.ts'

/** What a decoder makes of a raw object; `value: undefined` means that it is to be ignored. */
export type Projection<T, Problem> =
  | { readonly ok: true; readonly value: T | undefined }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** One difference between what was known and what is; `value: undefined` means gone. */
export interface Change<T> {
  readonly key: string
  readonly value: T | undefined
}

export interface ObjectTrackerOptions<T, Problem> {
  decode(raw: unknown): Projection<T, Problem>
  /** An object that could not be decoded; `key` is empty when it has no usable name. */
  onInvalid(key: string, problems: readonly Problem[]): void
}

/**
 * Knows which objects exist (their keys, not their values) and turns what a
 * server says into changes. An object that cannot be decoded, or is to be
 * ignored, counts as absent; if it was there before, it is gone now. So the
 * outcome depends on what the server holds and never on what it held before.
 */
export class ObjectTracker<T, Problem> {
  readonly #options: ObjectTrackerOptions<T, Problem>
  /** The listing in which each present object was last seen. */
  readonly #seen = new Map<string, number>()
  /** The same of objects that exist and could not be decoded. */
  readonly #rejected = new Map<string, number>()
  #listing = 0
  #changes: Change<T>[] = []

  constructor(options: ObjectTrackerOptions<T, Problem>) {
    this.#options = options
  }

  get size(): number {
    return this.#seen.size
  }

  /** Objects with a usable name that exist and could not be decoded. */
  get rejected(): number {
    return this.#rejected.size
  }

  /** Keys of the objects that exist. */
  keys(): Iterable<string> {
    return this.#seen.keys()
  }

  /** The object exists and looks like `raw`. */
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

  /** The object does not exist (any more). */
  remove(key: string): void {
    this.#rejected.delete(key)
    if (this.#seen.delete(key)) this.#changes.push({ key, value: undefined })
  }

  /** A complete account of what exists begins. */
  beginListing(): void {
    this.#listing++
  }

  /** The account is complete: what was not in it is gone. */
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
