import type { Family } from '../../lib/ip.ts'
import { ERROR, type Notification, notification } from './notification.ts'
import { decodeOpen, encodeOpen, familyOfCode, type Open } from './open.ts'
import { checkUpdate } from './update.ts'

/** The octets of the header: marker, length, type (RFC 4271, section 4.1). */
const HEADER = 19
const MARKER = 16
/** The octets of the longest message, its header included. */
const MAX_MESSAGE = 4_096

/** The octets of the longest message without its header. */
export const MAX_BODY = MAX_MESSAGE - HEADER

/** The type code of each kind of message, and the least and the greatest length that it may have, header included. */
const TYPES = {
  open: [1, 29, MAX_MESSAGE],
  update: [2, 23, MAX_MESSAGE],
  notification: [3, 21, MAX_MESSAGE],
  keepalive: [4, HEADER, HEADER],
  routeRefresh: [5, 23, 23],
} as const

type Kind = keyof typeof TYPES

/** A message of a peer. */
export type Message =
  | { readonly kind: 'open'; readonly open: Open }
  /** Routes of the peer are not used: an UPDATE is checked, and no more. */
  | { readonly kind: 'update' }
  | { readonly kind: 'notification'; readonly notification: Notification }
  | { readonly kind: 'keepalive' }
  /** A request to advertise a family again; undefined: one that is not advertised. */
  | { readonly kind: 'routeRefresh'; readonly family: Family | undefined }

/** Octets that are no message. */
export interface Malformed {
  readonly kind: 'malformed'
  /** What the peer is sent because of them. */
  readonly notification: Notification
}

/** Cuts the octets of a peer into messages. After octets that are no message it reads no further. */
export class MessageReader {
  #rest: Uint8Array = new Uint8Array()
  #isBroken = false

  /** The messages that are complete with these octets, in their order. */
  read(chunk: Uint8Array): readonly (Message | Malformed)[] {
    const octets = new Uint8Array(this.#rest.length + chunk.length)
    octets.set(this.#rest)
    octets.set(chunk, this.#rest.length)
    this.#rest = octets
    const messages: (Message | Malformed)[] = []
    while (!this.#isBroken && this.#rest.length >= HEADER) {
      const message = this.#next()
      if (message === undefined) break
      this.#isBroken = message.kind === 'malformed'
      messages.push(message)
    }
    // A copy: a part of the chunk would keep all of it in memory.
    this.#rest = this.#isBroken ? new Uint8Array() : Uint8Array.from(this.#rest)
    return messages
  }

  /** Undefined: the message is not complete yet. */
  #next(): Message | Malformed | undefined {
    const fault = headerFault(this.#rest)
    if (fault !== undefined) return malformed(fault)
    const length = lengthOf(this.#rest)
    if (this.#rest.length < length) return undefined
    const frame = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return decodeBody(kindOf(frame)!, frame.subarray(HEADER))
  }
}

/** The octets of an OPEN. */
export function openMessage(open: Open): Uint8Array {
  return frame('open', encodeOpen(open))
}

/** The octets of an UPDATE with this body, of at most `MAX_BODY` octets. */
export function updateMessage(body: Uint8Array): Uint8Array {
  return frame('update', body)
}

/** The octets of a NOTIFICATION. */
export function notificationMessage({ code, subcode, data }: Notification): Uint8Array {
  return frame('notification', Uint8Array.from([code, subcode, ...data]))
}

/** The octets of a KEEPALIVE. */
export function keepaliveMessage(): Uint8Array {
  return frame('keepalive', new Uint8Array())
}

function frame(kind: Kind, body: Uint8Array): Uint8Array {
  const octets = new Uint8Array(HEADER + body.length).fill(0xff, 0, MARKER)
  new DataView(octets.buffer).setUint16(MARKER, octets.length)
  octets[MARKER + 2] = TYPES[kind][0]
  octets.set(body, HEADER)
  return octets
}

/** What is wrong with a header; undefined: nothing. */
function headerFault(octets: Uint8Array): Notification | undefined {
  if (octets.subarray(0, MARKER).some((octet) => octet !== 0xff)) {
    return notification(ERROR.header, 1)
  }
  const length = lengthOf(octets)
  const badLength = notification(ERROR.header, 2, octets.slice(MARKER, MARKER + 2))
  if (length < HEADER || length > MAX_MESSAGE) return badLength
  const kind = kindOf(octets)
  if (kind === undefined) return notification(ERROR.header, 3, octets.slice(MARKER + 2, HEADER))
  const [, least, greatest] = TYPES[kind]
  return length < least || length > greatest ? badLength : undefined
}

function lengthOf(octets: Uint8Array): number {
  return (octets[MARKER]! << 8) | octets[MARKER + 1]!
}

function kindOf(octets: Uint8Array): Kind | undefined {
  const kinds = Object.keys(TYPES) as Kind[]
  return kinds.find((kind) => TYPES[kind][0] === octets[MARKER + 2])
}

function decodeBody(kind: Kind, body: Uint8Array): Message | Malformed {
  switch (kind) {
    case 'open': {
      const open = decodeOpen(body)
      return 'code' in open ? malformed(open) : { kind, open }
    }
    case 'update': {
      const fault = checkUpdate(body)
      return fault === undefined ? { kind } : malformed(fault)
    }
    case 'notification':
      return { kind, notification: notification(body[0]!, body[1], body.slice(2)) }
    case 'routeRefresh':
      return { kind, family: familyOfCode(body) }
    case 'keepalive':
      return { kind }
  }
}

function malformed(fault: Notification): Malformed {
  return { kind: 'malformed', notification: fault }
}
