/** The kinds of frames (RFC 6455, section 5.2). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Why a connection is closed (RFC 6455, section 7.4.1). */
export const CLOSE = {
  normal: 1000,
  protocolError: 1002,
  /** The code that is reported when the peer named none; it is never sent. */
  none: 1005,
  invalidText: 1007,
  tooLarge: 1009,
} as const

/** A decoded message of a peer. */
export type WebSocketEvent =
  | { readonly kind: 'message'; readonly data: Buffer }
  | { readonly kind: 'ping'; readonly data: Buffer }
  | { readonly kind: 'pong' }
  /** `code` 1005: none was named. */
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  /** It broke the protocol: the connection is to be closed with this code. */
  | { readonly kind: 'fault'; readonly code: number; readonly why: string }

/** One frame; `mask`: four random bytes, which clients must use and servers must not. */
export function webSocketFrame(opcode: number, payload: Buffer, mask?: Buffer): Buffer {
  const head = headOf(opcode, payload.length, mask !== undefined)
  if (mask === undefined) return Buffer.concat([head, payload])
  return Buffer.concat([head, mask, masked(payload, mask)])
}

/** The payload with its mask applied, or taken off: the same operation. `from`: the place in the payload. */
export function masked(payload: Buffer, mask: Buffer, from = 0): Buffer {
  const result = Buffer.allocUnsafe(payload.length)
  for (let at = 0; at < payload.length; at++) {
    result[at] = payload[at]! ^ mask[(at + from) & 3]!
  }
  return result
}

/** The payload of a close frame. */
export function closePayload(code: number, reason = ''): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code, 0)
  payload.write(reason, 2)
  return payload
}

function headOf(opcode: number, length: number, isMasked: boolean): Buffer {
  const size = length < 126 ? 2 : length <= 0xffff ? 4 : 10
  const head = Buffer.alloc(size)
  head[0] = 0x80 | opcode
  head[1] = (isMasked ? 0x80 : 0) | (size === 2 ? length : size === 4 ? 126 : 127)
  if (size === 4) head.writeUInt16BE(length, 2)
  if (size === 10) head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
