import type { ApiFailure, ApiResult } from './failure/failure.ts'
import type { Query } from './query.ts'
import type { OpenAnswer, Requester } from './requester.ts'
import { createLineSplitter } from './stream/line-splitter.ts'

export interface WatchOptions {
  readonly query?: Query
  readonly signal?: AbortSignal
  /** Milliseconds after which the stream is dropped whatever it does. */
  readonly lifetimeMs: number
}

/** The lines that arrived together; undefined stands for one over 8 MiB, which is lost. */
export type WatchBatch = readonly (string | undefined)[]

export interface WatchStream {
  /** Ends when the connection does; never rejects. */
  readonly batches: AsyncIterable<WatchBatch>
  /** Why it ended, if not by the server's will. Known when `batches` has ended. */
  failure(): ApiFailure | undefined
}

const LINE_LIMIT = 8 * 1024 * 1024

/** Opens a watch. Aborting `signal` closes its connection. */
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
  { body, deadline }: OpenAnswer,
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
