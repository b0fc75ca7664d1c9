/** An output for events. */
export interface AuditSink {
  /** Takes one event, a line of JSON without its end. Never waits and never throws. */
  write(line: string): void
  /** Delivers the waiting events until a deadline; the rest is counted as dropped. */
  close(): Promise<void>
}

/** Counts the failures of a sink. */
export interface SinkObserver {
  /** Events that are lost. */
  dropped(sink: string, events: number): void
  /** An attempt to write or deliver failed; the events may still arrive later. */
  failed(sink: string): void
}
