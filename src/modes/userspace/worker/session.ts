/** One client's connection or flow, as the code that may have to end it sees it. */
export interface Session {
  readonly protocol: 'TCP' | 'UDP'
  /** The client that it belongs to: the same for all sessions of one host (`hostKey`). */
  readonly client: string
  /** When its last byte was moved, or else when it began: milliseconds since the epoch. */
  readonly lastActive: number
  /** Payload bytes that it moved from the client, and to it. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Ends it at once: a reset for TCP, silence for UDP. */
  abort(): void
}
