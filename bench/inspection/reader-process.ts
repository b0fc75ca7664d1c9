import { WorkerProcess } from '../worker-process.ts'

/** An order for the reader. */
export type ReaderOrder =
  | { readonly what: 'start'; readonly socket: string; readonly reads: 'page' | 'all' }
  | { readonly what: 'stop' }

export interface ReaderReports {
  readonly start: object
  /** How long each reading took. */
  readonly stop: { readonly ms: readonly number[] }
}

/** A reader of the inspection service in a process of its own. */
export function startReaderProcess(): WorkerProcess<ReaderOrder, ReaderReports> {
  return new WorkerProcess(new URL('reader.ts', import.meta.url))
}
