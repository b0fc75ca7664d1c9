/** One client's connection or flow, as the code that may have to end it sees it. */
export interface Session {
  readonly protocol: 'TCP' | 'UDP'
  /** Whose it is: the same for all sessions of one host (`hostKey`). */
  readonly client: string
  /** When a byte of it was moved, or it began: milliseconds since the epoch. */
  readonly lastActive: number
  /** Payload that it moved, from the client and to it. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Ends it at once: a reset for TCP, silence for UDP. */
  abort(): void
}
