/** An object as it was received, without any validation. */
export interface StoredObject {
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion: string
    readonly uid: string
  }
  readonly spec?: unknown
}

export interface StoredEvent {
  readonly revision: number
  readonly resource: string
  readonly before: StoredObject | undefined
  readonly after: StoredObject | undefined
}

/** What a client may send: like a stored object, before the server filled it in. */
export type SentObject = Record<string, unknown> & {
  metadata?: Record<string, unknown> & { name?: string }
}

/**
 * A minimal watch cache: one revision for everything, a log of changes, and a horizon before which the log is
 * forgotten. Accepts every object, even a malformed one, because a real server may be older, newer or careless.
 */
export class StubStore {
  revision = 1
  /** Watches from before this revision get `410 Gone`. */
  horizon = 0
  readonly #objects = new Map<string, Map<string, StoredObject>>()
  readonly #log: StoredEvent[] = []
  readonly #listeners = new Set<(event: StoredEvent) => void>()

  list(resource: string): StoredObject[] {
    return [...(this.#objects.get(resource)?.values() ?? [])]
  }

  get(resource: string, key: string): StoredObject | undefined {
    return this.#objects.get(resource)?.get(key)
  }

  put(resource: string, key: string, sent: SentObject): StoredObject {
    const before = this.get(resource, key)
    const revision = ++this.revision
    const metadata = {
      ...sent.metadata,
      name: key.slice(key.indexOf('/') + 1),
      uid: before?.metadata.uid ?? `00000000-0000-4000-8000-${String(revision).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: String(revision),
    }
    const after: StoredObject = { ...sent, metadata }
    const objects = this.#objects.get(resource) ?? new Map<string, StoredObject>()
    this.#objects.set(resource, objects.set(key, after))
    this.#publish({ revision, resource, before, after })
    return after
  }

  /** Deletes an object. @returns the object with the revision of its deletion */
  remove(resource: string, key: string): StoredObject | undefined {
    const before = this.get(resource, key)
    if (before === undefined) return undefined
    const revision = ++this.revision
    this.#objects.get(resource)?.delete(key)
    this.#publish({ revision, resource, before, after: undefined })
    return { ...before, metadata: { ...before.metadata, resourceVersion: String(revision) } }
  }

  /** Forgets the log, so that every watch that resumes must list again. */
  compact(): void {
    this.#log.length = 0
    this.horizon = this.revision
  }

  /** Calls back with events after `revision`, then with every new one; undefined if these events were forgotten. */
  follow(revision: number, listener: (event: StoredEvent) => void): (() => void) | undefined {
    if (revision < this.horizon) return undefined
    for (const event of this.#log) if (event.revision > revision) listener(event)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #publish(event: StoredEvent): void {
    this.#log.push(event)
    for (const listener of this.#listeners) listener(event)
  }
}
