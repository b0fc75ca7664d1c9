/** The fields of a TCP segment over IPv4 that are read. */
export interface Segment {
  readonly from: string
  readonly to: string
  /** The kind of a segment without data, FIN and RST. */
  readonly kind: 'syn' | 'syn-ack' | 'ack'
  readonly sequence: number
  /** The sender's time stamp, in milliseconds since an arbitrary moment; 0: there is none. */
  readonly stamp: number
}

const TCP = 6
const [FIN, SYN, RST, ACK] = [1, 2, 4, 16]
const TIME_STAMP = 8

/** The segment of a packet that begins with its IPv4 header; undefined: it is of another kind. */
export function segmentOf(packet: Buffer): Segment | undefined {
  if (packet.length < 40 || packet[0] === undefined || packet[0] >> 4 !== 4) return undefined
  if (packet[9] !== TCP) return undefined
  const tcp = (packet[0] & 15) * 4
  const end = tcp + (packet.readUInt8(tcp + 12) >> 4) * 4
  const kind = kindOf(packet.readUInt8(tcp + 13), packet.readUInt16BE(2) > end)
  if (kind === undefined) return undefined
  const address = (at: number) => packet.subarray(at, at + 4).join('.')
  return {
    from: `${address(12)}:${packet.readUInt16BE(tcp)}`,
    to: `${address(16)}:${packet.readUInt16BE(tcp + 2)}`,
    kind,
    sequence: packet.readUInt32BE(tcp + 4),
    stamp: stampOf(packet.subarray(tcp + 20, end)),
  }
}

function kindOf(flags: number, hasData: boolean): Segment['kind'] | undefined {
  const has = flags & (SYN | ACK | RST | FIN)
  if (has === SYN) return 'syn'
  if (has === (SYN | ACK)) return 'syn-ack'
  return has === ACK && !hasData ? 'ack' : undefined
}

/** The time stamp option (RFC 7323): kind, length, the sender's time, the peer's time. */
function stampOf(options: Buffer): number {
  for (let at = 0; at < options.length; ) {
    const kind = options[at]
    if (kind === TIME_STAMP && at + 6 <= options.length) return options.readUInt32BE(at + 2)
    const length = kind === 1 ? 1 : (options[at + 1] ?? 0)
    if (kind === 0 || length === 0) break
    at += length
  }
  return 0
}
