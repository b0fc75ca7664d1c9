import type { ApplyResult, Change, Digest, KernelError, ObjectKey } from '../modes/mode.ts'
import { NormalisedForms } from './normalised-forms.ts'

/** How an object differs from what we last knew of it. */
export interface Drift {
  readonly key: ObjectKey
  readonly kind: 'missing' | 'altered' | 'stray'
  /** Undefined when the object is missing. */
  readonly seen: Digest | undefined
}

interface Failure {
  readonly refusal: KernelError
  readonly attempts: number
  readonly retryAt: number
}

/** First retry after a second, then doubling, five minutes at most. */
const RETRY_MS = { first: 1_000, max: 300_000 } as const

/**
 * Wanted and actual kernel objects, and the difference between them. It performs no input or output:
 * the caller reports what is wanted, what was read and what was written.
 */
export class DeltaTracker {
  readonly #wanted = new Map<ObjectKey, Digest>()
  readonly #actual = new Map<ObjectKey, Digest>()
  readonly #different = new Set<ObjectKey>()
  readonly #failures = new Map<ObjectKey, Failure>()
  readonly #normalisedForms = new NormalisedForms()

  /** New digests of wanted objects; undefined: no longer wanted. */
  want(changes: ReadonlyMap<ObjectKey, Digest | undefined>): void {
    for (const [key, digest] of changes) {
      if (digest === undefined) this.#wanted.delete(key)
      else this.#wanted.set(key, digest)
      this.#failures.delete(key)
      this.#normalisedForms.forget(key)
      this.#compare(key)
    }
  }

  /** The kernel's objects: all, or only those of `scope`. Returns those that changed unexpectedly. */
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
   * Compares objects that were found altered and have been rewritten. An object that the kernel keeps
   * printing as before is not altered: the kernel normalises it, and that form counts as equal. Any
   * other that differs from what was written is doubtful: the caller must read it again.
   */
  sawAfterRepair(
    drift: readonly Drift[],
    seen: ReadonlyMap<ObjectKey, Digest>,
  ): { readonly normalised: readonly ObjectKey[]; readonly doubtful: readonly ObjectKey[] } {
    const normalised: ObjectKey[] = []
    const doubtful: ObjectKey[] = []
    for (const { key, seen: before } of drift) {
      const digest = seen.get(key)
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

  /** What to do now, without objects whose last refusal is too recent. */
  pending(now: number): Change {
    const due = [...this.#different].filter((key) => (this.#failures.get(key)?.retryAt ?? 0) <= now)
    return {
      set: due.filter((key) => this.#wanted.has(key)),
      unset: due.filter((key) => !this.#wanted.has(key)),
    }
  }

  /** The outcome of a change that was planned from `pending`. */
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

  /** When the next refused object may be tried again; undefined when none was refused. */
  nextRetry(): number | undefined {
    const times = [...this.#failures.values()].map((failure) => failure.retryAt)
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
  }

  failures(): ReadonlyMap<ObjectKey, { readonly refusal: KernelError; readonly attempts: number }> {
    return this.#failures
  }

  isWanted(key: ObjectKey): boolean {
    return this.#wanted.has(key)
  }

  /** Objects that should stand in the kernel. */
  wantedKeys(): Iterable<ObjectKey> {
    return this.#wanted.keys()
  }

  /** Whether nothing is left to do, refused objects included. */
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
