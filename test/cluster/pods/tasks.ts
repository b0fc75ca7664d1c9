export type Task = RequestsTask | HeldTask | NamesTask
export type RequestsTask = HttpTask | UdpTask

interface Requests {
  /** Without it they go on until standard input ends. */
  readonly count?: number
  /** Milliseconds between the starts of two; one after the other unless set. */
  readonly everyMs?: number
  /** 10,000 unless set. */
  readonly timeoutMs?: number
}

export interface HttpTask extends Requests {
  readonly kind: 'http'
  readonly url: string
  /** The address that it connects from; the system chooses one unless set. */
  readonly from?: string
  /** GET unless set. */
  readonly method?: 'PUT'
}

export interface UdpTask extends Requests {
  readonly kind: 'udp'
  readonly host: string
  readonly port: number
}

/** TCP streams to a server that sends back what comes, on which bytes go all the time until standard input ends. */
export interface HeldTask {
  readonly kind: 'held'
  readonly host: string
  readonly port: number
  readonly streams: number
}

/** What came of them. */
export interface HeldOutcome {
  readonly streams: number
  /** Bytes that came back. */
  exchanged: number
  /** Streams that ended, or on which a byte did not come back in time, by why. */
  readonly broken: Record<string, number>
}

/** By the system's resolver, or records of a type. */
export interface NamesTask {
  readonly kind: 'names'
  readonly name: string
  readonly type?: 'A' | 'AAAA' | 'CNAME' | 'SRV'
}

/** What a server answers: its Pod, and the client as it saw it. */
export interface Answer {
  readonly name: string
  readonly source: string
}

/** What came of requests: how many there were of each answer, source and failure. */
export interface RequestsOutcome {
  attempts: number
  readonly answers: Record<string, number>
  readonly sources: Record<string, number>
  readonly failures: Record<string, number>
  /** The first of each kind: when each began (ISO 8601), from which port if it was connected, and why it failed. */
  readonly firstFailures: { readonly at: string; readonly port?: number; readonly why: string }[]
  /** From the start of the first to that of the last. */
  readonly seconds: number
}
