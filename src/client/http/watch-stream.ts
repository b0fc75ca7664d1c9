import type { ApiFailure, ApiResult } from './failure.ts'
import { createLineSplitter } from './line-splitter.ts'
import type { Query } from './query.ts'
import type { OpenResponse, Requester } from './requester.ts'

export interface WatchOptions {
  readonly query?: Query
  readonly signal?: AbortSignal
  /** Milliseconds after which the connection is closed in any case. */
  readonly lifetimeMs: number
}

/** The lines that arrived together; undefined stands for a line of more than 8 MiB, which was dropped. */
export type WatchBatch = readonly (string | undefined)[]

/** An open watch. */
export interface WatchStream {
  /** Ends with the connection; never rejects. */
  readonly batches: AsyncIterable<WatchBatch>
  /** Why the connection broke; undefined if the server ended the watch. Valid when `batches` has ended. */
  failure(): ApiFailure | undefined
}

const LINE_LIMIT = 8 * 1024 * 1024

/** Opens a watch. Resolves with the head of the response; aborting `signal` closes the connection. */
export async function openWatch(
  requester: Requester,
  path: string,
  { query = {}, signal, lifetimeMs }: WatchOptions,
): Promise<ApiResult<WatchStream>> {
  const opened = await requester.open({
    method: 'GET',
    path,
    query,
    ...(signal === undefined ? {} : { signal }),
  })
  if (!opened.ok) return opened
  const answer = opened.value
  answer.deadline.extend(lifetimeMs)
  let failure: ApiFailure | undefined
  const batches = readBatches(answer, (error) => {
    failure = requester.broken(error, answer)
  })
  return { ok: true, value: { batches, failure: () => failure } }
}

async function* readBatches(
  { body, deadline }: OpenResponse,
  onBroken: (error: unknown) => void,
): AsyncGenerator<WatchBatch, void> {
  const splitter = createLineSplitter(LINE_LIMIT)
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const lines = splitter.push(chunk)
      if (lines.length > 0) yield lines
    }
  } catch (error) {
    onBroken(error)
  } finally {
    deadline.clear()
  }
}
