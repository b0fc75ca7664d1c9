import type { Family, IpAddress } from '../../lib/ip.ts'
import {
  keepaliveMessage,
  type Malformed,
  type Message,
  MessageReader,
  notificationMessage,
  openMessage,
  updateMessage,
} from './messages.ts'
import {
  CEASE,
  describeNotification,
  ERROR,
  type Notification,
  notification,
  OPEN_ERROR,
} from './notification.ts'
import type { Open } from './open.ts'
import { type Routes, routesOf, updatesBetween } from './routes.ts'

/** What a session is opened with. */
export interface SessionSettings {
  readonly localASN: number
  readonly peerASN: number
  /** The BGP identifier of this speaker: an IPv4 address. */
  readonly routerID: IpAddress
  /** Seconds without a message after which the session ends, 3 to 65535; the peer may have a shorter time. */
  readonly holdTime: number
  /** Milliseconds from the end of a connection to the next attempt; an attempt may take as long. */
  readonly connectRetry: number
}

/** The states of RFC 4271, section 8.2.2, but for Active: this speaker never waits for connections. */
export type SessionState = 'Idle' | 'Connect' | 'OpenSent' | 'OpenConfirm' | 'Established'

/** What must be done now, in this order. */
export type SessionAction =
  | { readonly kind: 'connect' }
  | { readonly kind: 'send'; readonly octets: Uint8Array }
  /** End the connection, after what was sent. */
  | { readonly kind: 'close' }

/** Messages by their kind, as they are counted. */
export type MessageCounts = Readonly<Record<'sent' | 'received', Readonly<Record<string, number>>>>

/** Why a session is to end for good. */
type StopCause = keyof typeof CEASE

const NEVER = Number.POSITIVE_INFINITY
/** Milliseconds that the peer may take to send its OPEN. RFC 4271 suggests four minutes; a router answers at once. */
const OPEN_MS = 60_000
/** KEEPALIVEs that are sent in a hold time. */
const KEEPALIVES = 3
const NO_ROUTES: Routes = new Map()
const UNEXPECTED = { OpenSent: 1, OpenConfirm: 2, Established: 3 } as const

/**
 * A session with one peer, which this speaker opens: a state machine without input and output. Times are milliseconds of a
 * monotonic clock. After each event, and at `nextAt`, the caller does the actions that are returned.
 */
export class Session {
  readonly #settings: SessionSettings
  #state: SessionState = 'Idle'
  #reader = new MessageReader()
  #peer: Open | undefined
  /** When the state began. */
  #since = 0
  #retryAt = 0
  /** When the session ends, unless the peer sends a message before or, in Connect, the connection is made. */
  #deadline = NEVER
  #keepaliveAt = NEVER
  #failure: string | undefined
  /** Whether `#failure` is the reason of a NOTIFICATION, of this speaker or of the peer. */
  #isExplained = false
  #desired: Routes = NO_ROUTES
  #advertised: Routes = NO_ROUTES
  #actions: SessionAction[] = []
  readonly #counts = { sent: {}, received: {} } as Record<
    'sent' | 'received',
    Record<string, number>
  >

  constructor(settings: SessionSettings) {
    this.#settings = settings
  }

  get state(): SessionState {
    return this.#state
  }

  /** When the state began. */
  get since(): number {
    return this.#since
  }

  /** Why the last session ended or could not be opened, as a sentence; undefined once one is established. */
  get failure(): string | undefined {
    return this.#failure
  }

  /** The routes that the peer was sent and that were not withdrawn since. */
  get advertised(): Routes {
    return this.#advertised
  }

  /** The families that both speakers exchange; undefined while the session is not established. */
  get families(): readonly Family[] | undefined {
    return this.#state === 'Established' ? this.#peer?.families : undefined
  }

  get counts(): MessageCounts {
    return this.#counts
  }

  /** When `step` is due at the latest. */
  get nextAt(): number {
    return Math.min(
      this.#state === 'Idle' ? this.#retryAt : NEVER,
      this.#deadline,
      this.#keepaliveAt,
    )
  }

  /** Does what is due. */
  step(now: number): readonly SessionAction[] {
    if (this.#state === 'Idle' && this.#retryAt <= now) this.#connect(now)
    else if (this.#deadline <= now) this.#expire(now)
    else if (this.#keepaliveAt <= now) this.#keepAlive(now)
    return this.#take()
  }

  /** The connection was made. */
  connected(now: number): readonly SessionAction[] {
    if (this.#state !== 'Connect') return []
    const { localASN: asn, holdTime, routerID } = this.#settings
    this.#enter('OpenSent', now)
    this.#deadline = now + OPEN_MS
    const speaker = { asn, holdTime, routerID, hasLongASN: true, hasRouteRefresh: true }
    this.#send('open', openMessage({ ...speaker, families: [4, 6] }))
    return this.#take()
  }

  /** The connection could not be made, or ended; `reason` is the end of a sentence. */
  disconnected(reason: string, now: number): readonly SessionAction[] {
    if (this.#isIdle) return []
    // After an error, a router may close connections without a NOTIFICATION for a while: the earlier reason stays.
    const isSilent = this.#state === 'OpenSent' && this.#isExplained
    if (isSilent) this.#retry(now)
    else this.#fail(reason, now)
    return this.#take()
  }

  /** Octets of the peer. */
  receive(octets: Uint8Array, now: number): readonly SessionAction[] {
    if (!this.#isOpen) return []
    for (const message of this.#reader.read(octets)) {
      this.#handle(message, now)
      // What comes after an error has no meaning.
      if (this.#isIdle) break
    }
    return this.#take()
  }

  /** Replaces the routes to advertise. */
  advertise(routes: Routes): readonly SessionAction[] {
    this.#desired = routes
    this.#update()
    return this.#take()
  }

  /** Withdraws everything, and ends for good. */
  stop(cause: StopCause, now: number): readonly SessionAction[] {
    this.#desired = NO_ROUTES
    this.#update()
    if (this.#isOpen) this.#notify(notification(ERROR.cease, CEASE[cause]))
    if (!this.#isIdle) this.#end(now)
    this.#retryAt = NEVER
    return this.#take()
  }

  get #isIdle(): boolean {
    return this.#state === 'Idle'
  }

  /** Whether there is a connection. */
  get #isOpen(): boolean {
    return this.#state !== 'Idle' && this.#state !== 'Connect'
  }

  #handle(message: Message | Malformed, now: number): void {
    this.#counts.received[message.kind] = (this.#counts.received[message.kind] ?? 0) + 1
    if (message.kind === 'malformed') return this.#refuse(message.notification, now)
    if (message.kind === 'notification') {
      const words = describeNotification(message.notification)
      this.#fail(`the peer ended the session: ${words}${hintOf(message.notification)}`, now)
      this.#isExplained = true
      return
    }
    if (this.#state === 'OpenSent' && message.kind === 'open') return this.#open(message.open, now)
    if (this.#state === 'OpenConfirm' && message.kind === 'keepalive') return this.#establish(now)
    if (this.#state === 'Established' && message.kind !== 'open') {
      if (message.kind === 'routeRefresh') this.#refresh(message.family)
      else this.#restartHoldTimer(now)
      return
    }
    const subcode = UNEXPECTED[this.#state as keyof typeof UNEXPECTED]
    this.#refuse(notification(ERROR.stateMachine, subcode), now)
  }

  #open(open: Open, now: number): void {
    const { peerASN, localASN, routerID } = this.#settings
    if (open.asn !== peerASN) {
      const wrong = `it is of AS ${open.asn}, and announcement.bgp.peers has ${peerASN}`
      return this.#refuse(notification(ERROR.open, OPEN_ERROR.peerAS), now, wrong)
    }
    if (open.routerID === routerID && peerASN === localASN) {
      const wrong = `it has the router ID ${routerID} of this node; set announcement.bgp.routerID`
      return this.#refuse(notification(ERROR.open, OPEN_ERROR.identifier), now, wrong)
    }
    this.#peer = open
    this.#enter('OpenConfirm', now)
    this.#restartHoldTimer(now)
    this.#keepAlive(now)
  }

  #establish(now: number): void {
    this.#enter('Established', now)
    this.#failure = undefined
    this.#restartHoldTimer(now)
    this.#update()
  }

  /** Advertises a family again. */
  #refresh(family: Family | undefined): void {
    if (family === undefined) return
    this.#advertised = routesOf(this.#advertised, family === 4 ? [6] : [4])
    this.#update()
  }

  #update(): void {
    const peer = this.#peer
    if (this.#state !== 'Established' || peer === undefined) return
    const { localASN, peerASN } = this.#settings
    const context = { localASN, isInternal: localASN === peerASN, hasLongASN: peer.hasLongASN }
    const wanted = routesOf(this.#desired, peer.families)
    for (const body of updatesBetween(this.#advertised, wanted, context)) {
      this.#send('update', updateMessage(body))
    }
    this.#advertised = wanted
  }

  /** Milliseconds that both speakers agreed on; `NEVER`: no hold timer. */
  get #holdMs(): number {
    const seconds = Math.min(this.#settings.holdTime, this.#peer?.holdTime ?? 0)
    return seconds === 0 ? NEVER : seconds * 1_000
  }

  #restartHoldTimer(now: number): void {
    this.#deadline = now + this.#holdMs
  }

  #keepAlive(now: number): void {
    this.#send('keepalive', keepaliveMessage())
    this.#keepaliveAt = now + this.#holdMs / KEEPALIVES
  }

  #connect(now: number): void {
    this.#reader = new MessageReader()
    this.#peer = undefined
    this.#enter('Connect', now)
    this.#deadline = now + this.#settings.connectRetry
    this.#actions.push({ kind: 'connect' })
  }

  /** Nothing came in time. */
  #expire(now: number): void {
    const waited = (now - this.#since) / 1_000
    if (this.#state === 'Connect') {
      this.#fail(`no answer to connections within ${waited.toFixed(0)} s`, now)
      this.#retryAt = now
      return
    }
    const seconds = this.#state === 'OpenSent' ? OPEN_MS / 1_000 : this.#holdMs / 1_000
    this.#refuse(notification(ERROR.holdTimer), now, `nothing came from it for ${seconds} s`)
  }

  /** Ends the session because of an error of the peer, with a NOTIFICATION. */
  #refuse(fault: Notification, now: number, why?: string): void {
    this.#notify(fault)
    this.#fail(why ?? `this node ended the session: ${describeNotification(fault)}`, now)
    this.#isExplained = true
  }

  #notify(fault: Notification): void {
    this.#send('notification', notificationMessage(fault))
  }

  #fail(reason: string, now: number): void {
    this.#failure = reason
    this.#isExplained = false
    this.#retry(now)
  }

  /** Ends the session, until it is tried again. */
  #retry(now: number): void {
    this.#end(now)
    this.#retryAt = now + this.#settings.connectRetry
  }

  #end(now: number): void {
    this.#enter('Idle', now)
    this.#deadline = NEVER
    this.#keepaliveAt = NEVER
    this.#advertised = NO_ROUTES
    this.#actions.push({ kind: 'close' })
  }

  #enter(state: SessionState, now: number): void {
    this.#state = state
    this.#since = now
  }

  #send(kind: string, octets: Uint8Array): void {
    this.#counts.sent[kind] = (this.#counts.sent[kind] ?? 0) + 1
    this.#actions.push({ kind: 'send', octets })
  }

  #take(): readonly SessionAction[] {
    return this.#actions.splice(0)
  }
}

/** What an operator can do about a NOTIFICATION of the peer, as the end of a sentence. */
function hintOf({ code, subcode }: Notification): string {
  if (code === ERROR.open && subcode === 2) {
    return '; its configuration expects another AS than announcement.bgp.localASN'
  }
  if (code === ERROR.open && subcode === 3) return '; set announcement.bgp.routerID'
  if (code === ERROR.cease && subcode === 5)
    return '; it has no neighbor with the address of this node'
  return ''
}
