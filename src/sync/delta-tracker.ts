import type { ApplyResult, Change, Digest, KernelError, ObjectKey } from '../modes/mode.ts'

/**
 * The form is learned after this number of repairs: after a single one, another process may have undone it, as a
 * restarting firewall does.
 */
const MIN_REPAIRS = 3

/** How an object in the kernel differs from the state that the tracker knew. `stray`: the object was not expected. */
export interface Drift {
  readonly key: ObjectKey
  readonly kind: 'missing' | 'altered' | 'stray'
  /** The digest of the object as it was read; undefined if it is missing. */
  readonly seen: Digest | undefined
}

interface Failure {
  readonly refusal: KernelError
  readonly attempts: number
  readonly retryAt: number
}

/** The first retry comes after a second; each delay is twice the previous one, up to five minutes. */
const RETRY_MS = { first: 1_000, max: 300_000 } as const

/**
 * The digests of wanted and of actual kernel objects, and the difference between them. It does no input or
 * output: the caller passes in what is wanted (`want`), what was read (`saw`) and what was written
 * (`confirm`).
 */
export class DeltaTracker {
  readonly #wanted = new Map<ObjectKey, Digest>()
  readonly #actual = new Map<ObjectKey, Digest>()
  readonly #different = new Set<ObjectKey>()
  readonly #failures = new Map<ObjectKey, Failure>()
  readonly #normalisedForms = new NormalisedForms()

  /** Sets the digests of wanted objects; undefined for an object that is no longer wanted. */
  want(changes: ReadonlyMap<ObjectKey, Digest | undefined>): void {
    for (const [key, digest] of changes) {
      if (digest === undefined) this.#wanted.delete(key)
      else this.#wanted.set(key, digest)
      this.#failures.delete(key)
      this.#normalisedForms.forget(key)
      this.#compare(key)
    }
  }

  /**
   * Records the kernel's objects as they were read: all, or only those of `scope`. Returns those that differ from the
   * known state.
   */
  saw(seen: ReadonlyMap<ObjectKey, Digest>, scope?: readonly ObjectKey[]): readonly Drift[] {
    const drift: Drift[] = []
    for (const key of new Set([...(scope ?? this.#actual.keys()), ...seen.keys()])) {
      const digest = seen.get(key)
      if (digest === this.#actual.get(key)) continue
      drift.push({ key, kind: driftKind(this.#actual.get(key), digest), seen: digest })
      this.#setActual(key, digest)
    }
    return drift
  }

  /**
   * Compares objects that were found altered (`drift`), rewritten and read again (`seen`). If the kernel prints an
   * object after three repairs in succession as it did before them, the object is `normalised`: that form counts as equal
   * from now on. Any other object that differs from what was written is `doubtful`: the caller must read it again.
   */
  sawAfterRepair(
    drift: readonly Drift[],
    seen: ReadonlyMap<ObjectKey, Digest>,
  ): { readonly normalised: readonly ObjectKey[]; readonly doubtful: readonly ObjectKey[] } {
    const normalised: ObjectKey[] = []
    const doubtful: ObjectKey[] = []
    for (const { key, seen: before } of drift) {
      const digest = seen.get(key)
      if (digest !== before) this.#normalisedForms.restart(key)
      if (digest === this.#actual.get(key)) continue
      if (digest === undefined || digest !== before || !this.#normalisedForms.learn(key, digest)) {
        doubtful.push(key)
        continue
      }
      normalised.push(key)
      this.#setActual(key, digest)
    }
    return { normalised, doubtful }
  }

  /** The change to write at `now`, without refused objects that still wait; times are milliseconds of the loop's clock. */
  pending(now: number): Change {
    const due = [...this.#different].filter((key) => (this.#failures.get(key)?.retryAt ?? 0) <= now)
    return {
      set: due.filter((key) => this.#wanted.has(key)),
      unset: due.filter((key) => !this.#wanted.has(key)),
    }
  }

  /** Records the outcome of writing a change that `pending` returned. */
  confirm(change: Change, { failed, left }: ApplyResult, now: number): void {
    for (const [key, digest] of left ?? []) this.#setActual(key, digest)
    const settle = (key: ObjectKey, digest: Digest | undefined) => {
      const refusal = failed.get(key)
      if (refusal) return this.#different.has(key) && this.#fail(key, refusal, now)
      this.#failures.delete(key)
      this.#setActual(key, digest)
    }
    for (const key of change.set)
      settle(key, this.#normalisedForms.get(key) ?? this.#wanted.get(key))
    for (const key of change.unset) settle(key, undefined)
  }

  /**
   * When the next refused object may be tried again, in milliseconds of the loop's clock; undefined if none was refused.
   */
  nextRetry(): number | undefined {
    const times = [...this.#failures.values()].map((failure) => failure.retryAt)
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
  }

  /** Objects that the kernel refused, with the last error and the number of attempts. */
  failures(): ReadonlyMap<ObjectKey, { readonly refusal: KernelError; readonly attempts: number }> {
    return this.#failures
  }

  isWanted(key: ObjectKey): boolean {
    return this.#wanted.has(key)
  }

  /** Keys of all objects that the kernel should have. */
  wantedKeys(): Iterable<ObjectKey> {
    return this.#wanted.keys()
  }

  /** Whether the kernel has exactly the wanted objects; a refused object counts as a difference. */
  get isSettled(): boolean {
    return this.#different.size === 0
  }

  #setActual(key: ObjectKey, digest: Digest | undefined): void {
    if (digest === undefined) this.#actual.delete(key)
    else this.#actual.set(key, digest)
    this.#compare(key)
  }

  #compare(key: ObjectKey): void {
    const actual = this.#actual.get(key)
    const wanted = this.#wanted.get(key)
    const form = wanted === undefined ? undefined : this.#normalisedForms.get(key)
    if (actual !== (form ?? wanted)) {
      this.#different.add(key)
      return
    }
    this.#different.delete(key)
    this.#failures.delete(key)
  }

  #fail(key: ObjectKey, refusal: KernelError, now: number): void {
    const attempts = (this.#failures.get(key)?.attempts ?? 0) + 1
    const wait = Math.min(RETRY_MS.first * 2 ** (attempts - 1), RETRY_MS.max)
    this.#failures.set(key, { refusal, attempts, retryAt: now + wait })
  }
}

function driftKind(known: Digest | undefined, seen: Digest | undefined): Drift['kind'] {
  if (seen === undefined) return 'missing'
  return known === undefined ? 'stray' : 'altered'
}

/**
 * Digests of objects that the kernel prints in another form than they were written. A form is learned if the kernel
 * prints an object in the same way after three repairs.
 */
export class NormalisedForms {
  readonly #known = new Map<ObjectKey, Digest>()
  readonly #suspected = new Map<ObjectKey, { readonly digest: Digest; readonly times: number }>()

  /** The digest of the object's normalised form; undefined if the kernel prints it as written. */
  get(key: ObjectKey): Digest | undefined {
    return this.#known.get(key)
  }

  /**
   * Records that after a repair the kernel still prints `digest`. Returns true once that is the object's normalised
   * form.
   */
  learn(key: ObjectKey, digest: Digest): boolean {
    const before = this.#suspected.get(key)
    const times = before?.digest === digest ? before.times + 1 : 1
    if (times < MIN_REPAIRS) {
      this.#suspected.set(key, { digest, times })
      return false
    }
    this.#suspected.delete(key)
    this.#known.set(key, digest)
    return true
  }

  /** Starts the count of an object again: it has changed by its repair. */
  restart(key: ObjectKey): void {
    this.#suspected.delete(key)
  }

  /** Forgets the form of an object, whose wanted content changed. */
  forget(key: ObjectKey): void {
    this.#known.delete(key)
    this.#suspected.delete(key)
  }
}
