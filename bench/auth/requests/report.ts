/** What a server says when it is ready. */
export interface ServerReport {
  readonly pid: number
  readonly url: string
  readonly ca: string
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

/** What it says at its end. */
export interface LastReport {
  /** Audit events that the log could not take. */
  readonly droppedEvents: number
}
