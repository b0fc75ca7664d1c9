import type { JsonObject } from '../../lib/json.ts'

/** The operations of an API server, real or in-process, that tests need. */
export interface ServedApi {
  call(
    method: string,
    path: string,
    options?: {
      readonly body?: JsonObject
      readonly headers?: Readonly<Record<string, string>>
    },
  ): Promise<{ readonly status: number }>
  /** Creates an object and fails when it was refused. */
  make(path: string, object: JsonObject): Promise<JsonObject>
  watch(path: string): Promise<ServedWatch>
}

export interface ServedWatch {
  /** The next event; undefined at the end. */
  next(): Promise<{ readonly type: string; readonly object: JsonObject } | undefined>
  close(): void
}
