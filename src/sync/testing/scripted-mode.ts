import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import { contentHash } from '../../lib/hash.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  KernelError,
  Mode,
  ObjectDescription,
  ObjectKey,
  Probe,
  Program,
} from '../../modes/mode.ts'

/** One object per entry, whose digest is that of the entry. */
class OneObjectPerEntry implements Program {
  readonly wanted = new Map<ObjectKey, Digest>()
  #changes = new Map<ObjectKey, Digest | undefined>()

  replace(id: EntryId, entry: ForwardingEntry | undefined): void {
    const key = objectKey(id)
    const digest = entry && digestOf(JSON.stringify(entry))
    if (digest === undefined) this.wanted.delete(key)
    else this.wanted.set(key, digest)
    this.#changes.set(key, digest)
  }

  takeChanges(): ReadonlyMap<ObjectKey, Digest | undefined> {
    const changes = this.#changes
    this.#changes = new Map()
    return changes
  }

  ownersOf(key: ObjectKey): readonly EntryId[] {
    return [key.slice('object '.length) as EntryId]
  }

  describe(): ObjectDescription {
    return { kind: 'object', family: undefined }
  }
}

/** The object of an entry, by the entry's id. */
export function objectKey(id: string): ObjectKey {
  return `object ${id}` as ObjectKey
}

/** The digest of an object with this content. */
export function digestOf(text: string): Digest {
  return contentHash(text) as Digest
}

/** A mode that writes to a map instead of a kernel; a test scripts its failures. */
export class ScriptedMode implements Mode {
  readonly name = 'scripted'
  readonly gaps = []
  readonly program = new OneObjectPerEntry()
  readonly kernel = new Map<ObjectKey, Digest>()
  /** Every call in its order: `observe all`, `observe 1`, `apply +2 -0`. */
  readonly calls: string[] = []
  /** Objects that the kernel refuses while they are in this map. */
  readonly refused = new Map<ObjectKey, KernelError>()
  /** Errors that the next calls throw, one each. */
  readonly observeErrors: Error[] = []
  readonly applyErrors: Error[] = []
  /** The next change is reported as uncertain. */
  isUncertain = false
  /** The digest of what the kernel prints after an object was written. */
  normalise = (_key: ObjectKey, digest: Digest): Digest => digest
  /** Called in the middle of every `apply`, after the kernel was changed. */
  duringApply: () => void | Promise<void> = () => {}
  /** Called in the middle of every `observe`. */
  duringObserve: () => void | Promise<void> = () => {}
  /** Called at the beginning of every `drainAndCleanup`. */
  duringCleanup: (signal: AbortSignal) => void | Promise<void> = () => {}
  #report: ((change: ForeignChange) => void) | undefined

  get isWatched(): boolean {
    return this.#report !== undefined
  }

  /** Another process changes objects and the mode reports it. */
  reportForeign(change: ForeignChange): void {
    this.#report?.(change)
  }

  async probe(): Promise<Probe> {
    return { missing: [], facts: {} }
  }

  async apply({ set, unset }: Change): Promise<ApplyResult> {
    this.calls.push(`apply +${set.length} -${unset.length}`)
    const error = this.applyErrors.shift()
    if (error) throw error
    const failed = new Map<ObjectKey, KernelError>()
    for (const key of [...set, ...unset]) {
      const refusal = this.refused.get(key)
      const digest = this.program.wanted.get(key)
      if (refusal) failed.set(key, refusal)
      else if (digest === undefined) this.kernel.delete(key)
      else this.kernel.set(key, this.normalise(key, digest))
    }
    await this.duringApply()
    const uncertain = this.isUncertain
    this.isUncertain = false
    return { failed, uncertain }
  }

  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    this.calls.push(`observe ${keys?.length ?? 'all'}`)
    const error = this.observeErrors.shift()
    if (error) throw error
    const seen = [...this.kernel].filter(([key]) => keys === undefined || keys.includes(key))
    await this.duringObserve()
    return new Map(seen)
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    this.#report = onForeignChange
    return () => {
      this.#report = undefined
    }
  }

  async cleanup(): Promise<void> {
    this.kernel.clear()
  }

  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    this.calls.push('drainAndCleanup')
    await this.duringCleanup(signal)
    if (!signal.aborted) this.kernel.clear()
  }

  async takeNoMore(): Promise<void> {
    this.calls.push('takeNoMore')
  }
}
