import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { ownBuffer } from '../../lib/own-buffer.ts'
import { type Change, type EventType, eventTypeFor, type Item, shownItem } from '../cache/item.ts'
import type { ResourceCache } from '../cache/resource-cache.ts'
import type { Representation } from '../negotiation/answer-form.ts'
import { endResponse } from '../request/end-response.ts'
import { expired, statusDocument } from '../status/status.ts'

interface StreamOptions {
  readonly response: ServerResponse
  readonly cache: ResourceCache
  readonly representation: Representation
  readonly matches: (item: Item) => boolean
  /** Objects to send as ADDED before any change. */
  readonly initial: readonly Item[]
  /** Sent after the initial objects, if any. */
  readonly initialEnd: Buffer | undefined
  /** Number of the first change to send. */
  readonly from: number
  /** The revision before that change. */
  readonly revision: number
  readonly clock: Clock
  readonly stalledMs: number
}

/** Bytes that are written to the socket at once. */
const BATCH_BYTES = 32 << 10

/** Batches that are written before yielding to the event loop. */
const BATCHES = 16

/**
 * One client's watch. It holds positions, not events: it writes until the socket is full, and continues there
 * when the socket drains. A client that falls behind the window of changes gets an ERROR event with 410; one that reads
 * nothing for too long is disconnected. A slow client costs no memory except its socket's buffer.
 */
export class WatchStream {
  readonly #options: StreamOptions
  readonly #unsubscribe: () => void
  #initialAt = 0
  #initialEnded = false
  #next: number
  /** The revision of the last change that was examined. */
  #known: number
  #batch: Buffer[] = []
  #batchBytes = 0
  #sentFirst = false
  #isBlocked = false
  #isEnded = false
  #cancelStall: (() => void) | undefined

  constructor(options: StreamOptions) {
    this.#options = options
    this.#next = options.from
    this.#known = options.revision
    this.#unsubscribe = options.cache.subscribe(() => this.#pump())
    options.response.on('drain', () => this.#unblock())
    options.response.on('close', () => this.#release())
    this.#pump()
  }

  /** Whether everything up to the cache's revision was written. */
  get isCaughtUp(): boolean {
    return !this.#isBlocked && this.#initialEnded && this.#next === this.#options.cache.window.next
  }

  /** Writes a frame that is not a change, such as a bookmark. */
  write(frame: Buffer): void {
    if (this.#isEnded || this.#isBlocked) return
    this.#send(frame)
    this.#flush()
  }

  /** Ends the response: cleanly, unless the client is not reading it. */
  end(): void {
    if (this.#isEnded) return
    if (this.#isBlocked) return this.#disconnect()
    this.#release()
    endResponse(this.#options.response, this.#options)
  }

  #pump(): void {
    if (this.#isEnded) return
    if (this.#isBlocked) {
      if (this.#next < this.#options.cache.window.first) this.#disconnect()
      return
    }
    for (let batches = BATCHES; !this.#isEnded && !this.#isBlocked; batches--) {
      if (batches === 0) {
        setImmediate(() => this.#pump())
        return
      }
      this.#collectInitial()
      if (this.#initialEnded) this.#collectChanges()
      if (this.#batchBytes === 0) return
      this.#flush()
    }
  }

  #collectInitial(): void {
    if (this.#initialEnded) return
    const { initial, initialEnd, matches, representation } = this.#options
    while (this.#initialAt < initial.length) {
      if (this.#batchBytes >= BATCH_BYTES) return
      const item = initial[this.#initialAt++]!
      if (matches(item)) {
        this.#send(eventFrame('ADDED', representation.event(item, this.#takeFirst())))
      }
    }
    this.#initialEnded = true
    if (initialEnd !== undefined) this.#send(initialEnd)
  }

  #collectChanges(): void {
    const { window } = this.#options.cache
    while (this.#next < window.next && this.#batchBytes < BATCH_BYTES) {
      if (this.#next < window.first) return this.#fallBehind()
      this.#sendChange(window.at(this.#next++)!)
    }
  }

  #sendChange(change: Change): void {
    this.#known = change.revision
    const { matches, representation } = this.#options
    const type = eventTypeFor(change, matches)
    if (type === undefined) return
    const shown = { value: shownItem(change, type).value, revision: change.revision }
    if (this.#takeFirst() && representation.firstDiffers) {
      this.#send(eventFrame(type, representation.event(shown, true)))
      return
    }
    const id = `${type} ${representation.id}`
    let frame = change.frames.get(id)
    if (frame === undefined) {
      frame = eventFrame(type, representation.event(shown, false))
      change.frames.set(id, frame)
    }
    this.#send(frame)
  }

  #takeFirst(): boolean {
    const isFirst = !this.#sentFirst
    this.#sentFirst = true
    return isFirst
  }

  #send(frame: Buffer): void {
    this.#batch.push(frame)
    this.#batchBytes += frame.length
  }

  #flush(): void {
    const batch = this.#batch
    this.#batch = []
    this.#batchBytes = 0
    const [only] = batch
    const bytes = batch.length === 1 ? only! : Buffer.concat(batch)
    if (this.#isEnded || this.#options.response.write(bytes)) return
    this.#isBlocked = true
    const { clock, stalledMs } = this.#options
    this.#cancelStall ??= clock.after(stalledMs, () => this.#disconnect())
  }

  #unblock(): void {
    this.#isBlocked = false
    this.#cancelStall?.()
    this.#cancelStall = undefined
    this.#pump()
  }

  /** Ends the watch: the next change that the client needs is no longer available. */
  #fallBehind(): void {
    const { floor } = this.#options.cache.window
    const { status } = expired(this.#known, floor)
    const document = Buffer.from(JSON.stringify(statusDocument(status)))
    this.#send(eventFrame('ERROR', document))
    this.#flush()
    this.end()
  }

  #disconnect(): void {
    this.#release()
    this.#options.response.destroy()
  }

  #release(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#cancelStall?.()
    this.#unsubscribe()
  }
}

/** One line of a watch. It is copied to its own memory, because recent changes keep the frames of their events. */
export function eventFrame(type: EventType | 'BOOKMARK' | 'ERROR', object: Buffer): Buffer {
  return ownBuffer(Buffer.from(`{"type":"${type}","object":`), object, LINE_END)
}

const LINE_END = Buffer.from('}\n')
