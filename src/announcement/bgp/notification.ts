import { printable } from '../../lib/quote.ts'

/** The content of a NOTIFICATION, the message that ends a session (RFC 4271, section 4.5). */
export interface Notification {
  readonly code: number
  readonly subcode: number
  readonly data: Uint8Array
}

/** Error codes. */
export const ERROR = {
  header: 1,
  open: 2,
  update: 3,
  holdTimer: 4,
  stateMachine: 5,
  cease: 6,
} as const

/** Subcodes of an OPEN message error (RFC 4271, section 6.2). */
export const OPEN_ERROR = {
  version: 1,
  peerAS: 2,
  identifier: 3,
  parameter: 4,
  holdTime: 6,
} as const

/** Subcodes of a Cease (RFC 4486). */
export const CEASE = { shutdown: 2, deconfigured: 3, changed: 6 } as const

/** The names of error codes, and of their subcodes from 0 on, as the registry of BGP parameters has them. */
const NAMES: Readonly<Record<number, readonly [name: string, subcodes: readonly string[]]>> = {
  1: [
    'message header error',
    ['', 'connection not synchronized', 'bad message length', 'bad message type'],
  ],
  2: [
    'OPEN message error',
    [
      '',
      'unsupported version number',
      'bad peer AS',
      'bad BGP identifier',
      'unsupported optional parameter',
      '',
      'unacceptable hold time',
      'unsupported capability',
      '',
      '',
      '',
      'role mismatch',
    ],
  ],
  3: [
    'UPDATE message error',
    [
      '',
      'malformed attribute list',
      'unrecognized well-known attribute',
      'missing well-known attribute',
      'attribute flags error',
      'attribute length error',
      'invalid ORIGIN attribute',
      '',
      'invalid NEXT_HOP attribute',
      'optional attribute error',
      'invalid network field',
      'malformed AS_PATH',
    ],
  ],
  4: ['hold timer expired', []],
  5: [
    'finite state machine error',
    [
      '',
      'unexpected message in OpenSent',
      'unexpected message in OpenConfirm',
      'unexpected message in Established',
    ],
  ],
  6: [
    'cease',
    [
      '',
      'maximum number of prefixes reached',
      'administrative shutdown',
      'peer de-configured',
      'administrative reset',
      'connection rejected',
      'other configuration change',
      'connection collision resolution',
      'out of resources',
      'hard reset',
      'BFD down',
    ],
  ],
  7: ['ROUTE-REFRESH message error', ['', 'invalid message length']],
  8: ['send hold timer expired', []],
}

/** Subcodes of Cease whose data may be a text for people (RFC 9003). */
const WITH_TEXT: readonly number[] = [2, 4]

/** A NOTIFICATION; `subcode` is 0 where its code has none. */
export function notification(
  code: number,
  subcode = 0,
  data: Uint8Array = new Uint8Array(),
): Notification {
  return { code, subcode, data }
}

/** A NOTIFICATION in words: `cease: administrative shutdown ("maintenance")`. */
export function describeNotification({ code, subcode, data }: Notification): string {
  const [name, subcodes] = NAMES[code] ?? [`error code ${code}`, []]
  const detail = subcodes[subcode] || (subcode === 0 ? '' : `subcode ${subcode}`)
  const text = code === ERROR.cease && WITH_TEXT.includes(subcode) ? communication(data) : ''
  return `${name}${detail === '' ? '' : `: ${detail}`}${text === '' ? '' : ` ("${text}")`}`
}

/** The shutdown communication of a Cease; empty if there is none. */
function communication(data: Uint8Array): string {
  const length = Math.min(data[0] ?? 0, data.length - 1)
  return length <= 0 ? '' : printable(new TextDecoder().decode(data.subarray(1, 1 + length)))
}
