/** What the load generator receives, one JSON per line on its standard input. */
export interface LoadOrder {
  /**
   * `exchanges`: connect, 100 bytes there, 100 back, reset, again. `roundTrips`: 100 bytes
   * there and back, again and again, on one connection. `stream`: take what backends send.
   * `hold`: connect, one exchange, and keep the connection. `release`: reset what is held.
   */
  readonly what: keyof LoadReports
  /** Namespace of the client. */
  readonly client: string
  readonly ip: string
  readonly port: number
  /** The number of connections at the same time. */
  readonly connections: number
  readonly ms: number
  /** Processes whose processor time is measured, with that of their children. */
  readonly pids: readonly number[]
}

/** The answers, one JSON per line. */
export interface LoadReports {
  readonly exchanges: Exchanges
  readonly roundTrips: Exchanges
  readonly stream: Streamed
  readonly hold: Held
  readonly release: Held
}

export interface Exchanges {
  readonly perSecond: number
  readonly failures: number
  /** Microseconds: from connecting, or on a connection from sending, until the answer. */
  readonly p50: number
  readonly p99: number
}

export interface Streamed {
  readonly gigabytesPerSecond: number
  readonly cpuSecondsPerGigabyte: number
}

export interface Held {
  readonly connections: number
  readonly failures: number
}
