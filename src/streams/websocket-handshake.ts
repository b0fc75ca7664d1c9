import { createHash } from 'node:crypto'

/** The GUID from which the answer to a handshake is computed (RFC 6455, section 1.3). */
const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/

/** The headers of a request, by their names in lower case, as Node has them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The headers of the answer 101, and the sub-protocol that was chosen. */
export interface AcceptedHandshake {
  readonly protocol: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Answers the handshake of a client with the first sub-protocol of ours that it offers; their names may hold
 * slashes. @returns a string, one sentence for the client, if the handshake cannot be answered
 */
export function acceptHandshake(
  headers: RequestHeaders,
  supported: readonly string[],
): AcceptedHandshake | string {
  const version = textOf(headers['sec-websocket-version'])
  if (version !== '13') return 'the header Sec-WebSocket-Version must be 13'
  const key = textOf(headers['sec-websocket-key'])
  if (!KEY.test(key)) return 'the header Sec-WebSocket-Key must be 16 bytes in base64'
  const offered = listOf(headers['sec-websocket-protocol'])
  const protocol = supported.find((name) => offered.includes(name))
  if (protocol === undefined) {
    return `the header Sec-WebSocket-Protocol must offer one of ${supported.join(', ')}`
  }
  return {
    protocol,
    headers: {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Accept': acceptKey(key),
      'Sec-WebSocket-Protocol': protocol,
    },
  }
}

/** The value with which a server proves that it understood the handshake with this key. */
export function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}${MAGIC}`).digest('base64')
}

/** The elements of a header that is a list, or was sent several times. */
export function listOf(header: string | readonly string[] | undefined): readonly string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  return text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
