/** Where events go. */
export interface AuditSink {
  /** Takes one event, a line of JSON without its end. Never waits and never throws. */
  write(line: string): void
  /** Delivers what it holds, until a deadline; the rest is counted as dropped. */
  close(): Promise<void>
}

/** Counts what a sink could not do. */
export interface SinkObserver {
  /** Events that are lost. */
  dropped(sink: string, events: number): void
  /** An attempt to write or deliver failed; the events may still arrive later. */
  failed(sink: string): void
}
