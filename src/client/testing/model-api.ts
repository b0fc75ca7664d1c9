import type { ServerResponse } from 'node:http'
import type { Arrival } from './scripted-server.ts'
import { answerJson, answerStatus, statusOf } from './scripted-server.ts'

export interface ModelObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion: string
  }
  readonly spec: unknown
}

export interface MoreFields {
  readonly labels?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

interface Entry {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: ModelObject
}

interface Watcher {
  readonly response: ServerResponse
  version: number
}

/** How the server treats `sendInitialEvents`. */
export type InitialEvents = 'offered' | 'refused' | 'ignored'

/**
 * One collection with the list and watch semantics of a Kubernetes API server, small enough to be obviously correct,
 * and with the failures of such servers.
 */
export class ModelApi {
  initialEvents: InitialEvents = 'offered'
  /** The maximum number of objects on a page, whatever limit the client requests. */
  pageLimit = 3
  #version = 10
  #objects = new Map<string, ModelObject>()
  #history: Entry[] = []
  #compacted = 0
  /** States that continue tokens point to. */
  #pins = new Map<number, readonly (readonly [string, ModelObject])[]>()
  #watchers = new Set<Watcher>()

  /** The actual contents: key → spec. */
  get contents(): ReadonlyMap<string, unknown> {
    return new Map([...this.#objects].map(([key, object]) => [key, object.spec]))
  }

  get version(): number {
    return this.#version
  }

  get watchers(): number {
    return this.#watchers.size
  }

  /** `more` are further fields of the object; labels go into its metadata. */
  put(key: string, spec: unknown, more: MoreFields = {}): void {
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED'
    const object = modelObject(key, spec, ++this.#version, more)
    this.#objects.set(key, object)
    this.#record({ version: this.#version, type, object })
  }

  remove(key: string): void {
    const object = this.#objects.get(key)
    if (object === undefined) return
    this.#objects.delete(key)
    const last = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    }
    this.#record({ version: this.#version, type: 'DELETED', object: last })
  }

  /** Discards the history: earlier watches and continue tokens are answered with 410. */
  compact(): void {
    this.#compacted = this.#version
    this.#history = []
  }

  bookmark(): void {
    for (const watcher of this.#watchers) writeBookmark(watcher.response, this.#version, false)
  }

  /** Ends every watch; `brutally`: in the middle of a line. */
  disconnect(brutally: boolean): void {
    for (const { response } of this.#watchers) {
      if (brutally) response.write('{"type":"ADDED","object":{"metadata":{"name":"half')
      if (brutally) response.socket?.destroySoon()
      else response.end()
    }
    this.#watchers.clear()
  }

  /** Sends every watch an ERROR event and ends it. */
  expire(): void {
    for (const { response } of this.#watchers) {
      writeLine(response, { type: 'ERROR', object: statusOf(410, 'Expired') })
      response.end()
    }
    this.#watchers.clear()
  }

  snapshot(): () => void {
    const version = this.#version
    const objects = new Map(this.#objects)
    return () => {
      this.disconnect(false)
      this.#version = version
      this.#objects = new Map(objects)
      this.#history = []
      this.#pins.clear()
      this.#compacted = Math.min(this.#compacted, version)
    }
  }

  answer({ url, response }: Arrival): void {
    if (url.searchParams.get('watch') === 'true') this.#watch(url.searchParams, response)
    else this.#list(url.searchParams, response)
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const token = query.get('continue')
    const [pinned, after] = token === null ? [this.#version, ''] : splitToken(token)
    const state = token === null ? sorted(this.#objects) : this.#pins.get(pinned)
    if (state === undefined || pinned < this.#compacted) {
      return answerStatus(response, 410, 'Expired')
    }
    const all = state.filter(([key]) => key > after)
    const limit = Math.min(Number(query.get('limit') ?? Number.POSITIVE_INFINITY), this.pageLimit)
    const page = query.has('limit') ? all.slice(0, limit) : all
    const last = page.at(-1)?.[0] ?? ''
    const next = page.length < all.length ? { continue: `${pinned}:${last}` } : {}
    if (page.length < all.length) this.#pins.set(pinned, state)
    const metadata = { resourceVersion: String(pinned), ...next }
    answerJson(response, 200, { kind: 'List', items: page.map(([, object]) => object), metadata })
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get('sendInitialEvents') === 'true'
    if (initial && this.initialEvents === 'refused') return answerStatus(response, 422, 'Invalid')
    const from = Number(query.get('resourceVersion') ?? 0)
    if (from > 0 && from < this.#compacted) {
      response.writeHead(200).flushHeaders()
      writeLine(response, { type: 'ERROR', object: statusOf(410, 'Expired') })
      response.end()
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    if (from === 0) {
      for (const object of this.#objects.values()) writeLine(response, { type: 'ADDED', object })
    }
    if (initial && this.initialEvents === 'offered') writeBookmark(response, this.#version, true)
    const watcher = { response, version: from === 0 ? this.#version : from }
    for (const entry of this.#history) send(watcher, entry)
    this.#watchers.add(watcher)
    response.on('close', () => this.#watchers.delete(watcher))
  }

  #record(entry: Entry): void {
    this.#history.push(entry)
    for (const watcher of this.#watchers) send(watcher, entry)
  }
}

export function writeLine(response: ServerResponse, event: unknown): void {
  response.write(`${JSON.stringify(event)}\n`)
}

export function writeBookmark(
  response: ServerResponse,
  version: number,
  initialEnd: boolean,
): void {
  const annotations = initialEnd ? { 'k8s.io/initial-events-end': 'true' } : {}
  const metadata = { resourceVersion: String(version), annotations }
  writeLine(response, { type: 'BOOKMARK', object: { kind: 'Thing', metadata } })
}

export function modelObject(
  key: string,
  spec: unknown,
  version: number,
  { labels = {}, ...fields }: MoreFields = {},
): ModelObject {
  const [first = '', second] = key.split('/')
  const names = second === undefined ? { name: first } : { namespace: first, name: second }
  return { metadata: { ...names, labels, resourceVersion: String(version) }, spec, ...fields }
}

function sorted(
  objects: ReadonlyMap<string, ModelObject>,
): readonly (readonly [string, ModelObject])[] {
  return [...objects].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function send(watcher: Watcher, { version, type, object }: Entry): void {
  if (version <= watcher.version) return
  watcher.version = version
  writeLine(watcher.response, { type, object })
}

function splitToken(token: string): [version: number, after: string] {
  const colon = token.indexOf(':')
  return [Number(token.slice(0, colon)), token.slice(colon + 1)]
}
