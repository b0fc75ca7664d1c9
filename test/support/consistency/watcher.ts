import { setTimeout as delay } from 'node:timers/promises'
import { type JsonObject, objectAt, stringAt } from '../../../src/lib/json.ts'
import { Caller } from './caller.ts'
import type { History, Listed } from './history.ts'
import { SERVICES } from './service-request.ts'
import type { WatchLine, WatchLog } from './watch-log.ts'
import type { World } from './world.ts'
import { listedOf } from './writer.ts'

export interface WatcherOptions {
  readonly name: string
  readonly world: World
  readonly history: History
  readonly bookmarks: boolean
  /** The index of the server with which it begins. */
  readonly turn: number
  /** Hangs up by itself after this many lines. */
  readonly maxEvents?: number
}

/** The pause before a refused watch is tried again. */
const RETRY_MS = 20

/**
 * Lists once, and from then on watches from the last version that it received, whatever happens to its connections. If
 * that version has expired, it lists again, as clients do, and records this in its log.
 */
export class Watcher implements WatchLog {
  readonly watcher: string
  readonly lines: WatchLine[] = []
  start!: Listed
  /** The list that it read after its version had expired. */
  relisted: Listed | undefined
  readonly #options: WatcherOptions
  #version = 0
  #heard = Promise.withResolvers<void>()

  constructor(options: WatcherOptions) {
    this.watcher = options.name
    this.#options = options
  }

  /** The first list; call it before `watch`. */
  async begin(): Promise<void> {
    await using caller = new Caller(this.#options.world.servers, this.#options.turn)
    this.start = await this.#list(caller)
  }

  async watch(until: AbortSignal): Promise<void> {
    await using caller = new Caller(this.#options.world.servers, this.#options.turn)
    while (!until.aborted) {
      const outcome = await this.#connect(caller, until)
      if (until.aborted) return
      if (outcome === 'unreached') await this.#options.world.someServer()
      else if (outcome !== 'unanswered' && outcome.status >= 500) await delay(RETRY_MS)
      if (this.lines.at(-1)?.type === 'EXPIRED') {
        this.relisted = await this.#list(caller)
      }
    }
  }

  /** Resolves when everything up to this version was received. */
  async reach(version: number): Promise<void> {
    while (this.#version < version) await this.#heard.promise
  }

  /** Resolves at the next line of this type. */
  async hears(type: WatchLine['type']): Promise<void> {
    do await this.#heard.promise
    while (this.lines.at(-1)?.type !== type)
  }

  #connect(caller: Caller, until: AbortSignal) {
    const { bookmarks, maxEvents = Number.POSITIVE_INFINITY } = this.#options
    const enough = new AbortController()
    let heard = 0
    const path = `${SERVICES}?watch=true&resourceVersion=${this.#version}`
    const hear = (line: string): void => {
      if (enough.signal.aborted) return
      this.#hear(JSON.parse(line) as JsonObject)
      if (++heard >= maxEvents) enough.abort()
    }
    const signal = AbortSignal.any([until, enough.signal])
    return caller.stream(`${path}${bookmarks ? '&allowWatchBookmarks=true' : ''}`, hear, signal)
  }

  #hear(event: JsonObject): void {
    const object = objectAt(event, 'object')
    const isExpired = event['type'] === 'ERROR' && object['code'] === 410
    const type = isExpired ? 'EXPIRED' : (event['type'] as WatchLine['type'])
    const metadata = objectAt(object, 'metadata')
    const version = isExpired ? this.#version : Number(stringAt(metadata, 'resourceVersion'))
    this.lines.push({ type, version, name: stringAt(metadata, 'name'), object })
    this.#advance(version)
  }

  async #list(caller: Caller): Promise<Listed> {
    const { history, world } = this.#options
    for (;;) {
      const called = history.tick()
      const outcome = await caller.send({ method: 'GET', path: SERVICES })
      if (outcome === 'unreached' || outcome === 'unanswered') await world.someServer()
      else if (outcome.status === 200) {
        const list = listedOf(outcome.body, called, history.tick())
        this.#advance(list.version)
        return list
      } else await delay(RETRY_MS)
    }
  }

  #advance(version: number): void {
    this.#version = version
    this.#heard.resolve()
    this.#heard = Promise.withResolvers()
  }
}
