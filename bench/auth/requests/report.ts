/** The report of a server that is ready. */
export interface ServerReport {
  readonly pid: number
  readonly url: string
  readonly ca: string
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

/** The report of a server at its end. */
export interface LastReport {
  /** The number of audit events that the log could not accept. */
  readonly droppedEvents: number
}
