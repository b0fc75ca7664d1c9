import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject } from '../../lib/json.ts'
import { type ApiFailure, type ApiResult, localFailure } from './failure.ts'
import { ListSplitter } from './list-splitter.ts'
import type { ApiRequest, OpenResponse, Requester } from './requester.ts'

/** The items of a list that arrived together. */
export interface ListBatch {
  /** JSON texts. */
  readonly items: readonly string[]
  /** How many items of more than 8 MiB were dropped. */
  readonly oversized: number
}

/** The metadata of a page. */
export interface ListPage {
  /** The resourceVersion of the list. */
  readonly version: string
  /** Token of the next page; undefined on the last one. */
  readonly next: string | undefined
}

/** One page of a list that is being read. */
export interface ListStream {
  /** Ends with the page or with its connection; never rejects. */
  readonly batches: AsyncIterable<ListBatch>
  /** The metadata of the page, or why it is incomplete. Valid when `batches` has ended. */
  result(): ApiResult<ListPage>
}

const ITEM_LIMIT = 8 * 1024 * 1024
const PAGE_LIMIT = 1024 * 1024 * 1024
/** Milliseconds without any part of a page after which the page fails. */
const STALL_MS = 25_000
const UNREAD = localFailure('NP_CLIENT_ABORTED', 'Aborted', 'the page was not read to its end')

/** Requests one page of a list. Resolves with the head of the response. */
export async function openListPage(
  requester: Requester,
  request: ApiRequest,
): Promise<ApiResult<ListStream>> {
  const opened = await requester.open(request)
  if (!opened.ok) return opened
  let result: ApiResult<ListPage> = { ok: false, failure: UNREAD }
  const batches = readBatches(opened.value, requester, (ended) => {
    result = ended
  })
  return { ok: true, value: { batches, result: () => result } }
}

/** Reads a page to its end, and returns only its metadata. */
export async function readToEnd(stream: ListStream): Promise<ApiResult<ListPage>> {
  for await (const batch of stream.batches) void batch
  return stream.result()
}

async function* readBatches(
  answer: OpenResponse,
  requester: Requester,
  onEnd: (result: ApiResult<ListPage>) => void,
): AsyncGenerator<ListBatch, void> {
  let items: string[] = []
  let oversized = 0
  let size = 0
  const splitter = new ListSplitter({
    itemLimit: ITEM_LIMIT,
    onItem: (text) => items.push(text),
    onOversized: () => oversized++,
  })
  try {
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      answer.deadline.extend(STALL_MS)
      size += chunk.length
      if (size > PAGE_LIMIT) throw tooLarge()
      splitter.push(chunk)
      if (items.length > 0 || oversized > 0) yield { items, oversized }
      items = []
      oversized = 0
    }
    onEnd(readEnvelope(splitter.end()))
  } catch (error) {
    onEnd({ ok: false, failure: pageFailure(error, requester, answer) })
  } finally {
    answer.deadline.clear()
  }
}

function readEnvelope(envelope: unknown): ApiResult<ListPage> {
  const metadata = isJsonObject(envelope) ? envelope['metadata'] : undefined
  const kind = isJsonObject(envelope) ? envelope['kind'] : undefined
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined
  if (
    !isJsonObject(metadata) ||
    typeof version !== 'string' ||
    typeof kind !== 'string' ||
    !kind.endsWith('List')
  ) {
    const message = 'the answer is not a list with a resourceVersion'
    return { ok: false, failure: localFailure('NP_CLIENT_GARBAGE', 'Garbage', message) }
  }
  const token = metadata['continue']
  const next = typeof token === 'string' && token !== '' ? token : undefined
  return { ok: true, value: { version, next } }
}

function pageFailure(error: unknown, requester: Requester, answer: OpenResponse): ApiFailure {
  if (!(error instanceof NodeProxyError)) return requester.broken(error, answer)
  const reason = error.code === 'NP_CLIENT_TOO_LARGE' ? 'TooLarge' : 'Garbage'
  return localFailure(error.code, reason, error.message)
}

function tooLarge(): NodeProxyError {
  return new NodeProxyError('NP_CLIENT_TOO_LARGE', `a page of more than ${PAGE_LIMIT} bytes`)
}
