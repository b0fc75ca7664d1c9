import type { ApiResult } from '../http/failure/failure.ts'
import { localFailure } from '../http/failure/failure.ts'
import type { ListBatch, ListPage } from '../http/list-stream.ts'
import type { Query } from '../http/query.ts'
import { parseJson } from '../json.ts'
import type { ReflectorContext } from './reflector-context.ts'

const PAGE_ITEMS = '500'
/** Ten million objects. A server with more pages never ends its list. */
const MAX_PAGES = 20_000

/**
 * Lists a collection in pages of 500, without `resourceVersion`, so never
 * from a stale cache. When the pages expire meanwhile (410), lists again in one response,
 * which cannot expire.
 * @returns the resourceVersion of the first page: from a server whose pages are not of one version, a
 * watch from there repeats the changes between them
 */
export async function readPagedList<T, Problem>(
  context: ReflectorContext<T, Problem>,
  signal: AbortSignal,
): Promise<ApiResult<string>> {
  const paged = await readPages(context, { limit: PAGE_ITEMS }, signal)
  if (paged.ok || paged.failure.code !== 410) return paged
  return readPages(context, {}, signal)
}

async function readPages<T, Problem>(
  context: ReflectorContext<T, Problem>,
  limit: Query,
  signal: AbortSignal,
): Promise<ApiResult<string>> {
  context.tracker.beginListing()
  let version: string | undefined
  let token: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const query: Query = token === undefined ? limit : { ...limit, continue: token }
    const page = await readPage(context, query, signal)
    if (!page.ok) return page
    version ??= page.value.version
    if (page.value.next === undefined) {
      context.tracker.endListing()
      context.deliver()
      return { ok: true, value: version }
    }
    if (page.value.next === token) break
    token = page.value.next
  }
  const message = `the list of ${context.resource.path} does not end`
  return { ok: false, failure: localFailure('NP_CLIENT_GARBAGE', 'Garbage', message) }
}

async function readPage<T, Problem>(
  context: ReflectorContext<T, Problem>,
  query: Query,
  signal: AbortSignal,
): Promise<ApiResult<ListPage>> {
  const { client, resource } = context
  const opened = await client.list(resource.path, {
    query: { ...resource.query, ...query },
    signal,
  })
  if (!opened.ok) return opened
  for await (const batch of opened.value.batches) {
    readBatch(context, batch)
    context.deliver()
  }
  return opened.value.result()
}

function readBatch<T, Problem>(context: ReflectorContext<T, Problem>, batch: ListBatch): void {
  for (const text of batch.items) {
    const raw = parseJson(text)
    if (raw === undefined) context.onLost('garbage')
    else context.tracker.put(raw)
  }
  for (let lost = 0; lost < batch.oversized; lost++) context.onLost('oversized')
}
