/** Who sent a datagram; valid until the next one is read. */
export interface DatagramClient {
  /** Its IP address, as text. */
  readonly address: string
  send(response: Buffer): void
  /** The same client, for a response that comes later. */
  kept(): DatagramClient
}
