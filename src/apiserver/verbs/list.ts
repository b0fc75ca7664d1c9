import { isJsonObject, type Json, stringAt } from '../../lib/json.ts'
import type { RevisionRefusal } from '../../storage/store.ts'
import {
  type Item,
  isReadable,
  isUnreadable,
  readItem,
  type UnreadableObject,
} from '../cache/item.ts'
import { unreadableUnder, warnOfUnreadable } from '../cache/unreadable.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { ListMeta } from '../negotiation/answer-form.ts'
import { negotiate } from '../negotiation/negotiate.ts'
import type { ApiRequest, HandlerResult } from '../request/api-request.ts'
import { type ListOptions, parseListOptions } from '../request/list-options.ts'
import { storagePrefix } from '../resource/resource.ts'
import {
  badRequest,
  continueExpired,
  expired,
  revisionTooLarge,
  StatusError,
} from '../status/status.ts'
import { awaitRevision } from './read-newest.ts'

const VERSION = 'meta.k8s.io/v1'

/** Entries that are read from the store at once while searching for matches of a selector. */
const SCAN = 500

/** What a list has, or a page of it. */
export interface Found {
  readonly items: readonly Item[]
  readonly meta: ListMeta
  /** Those of the whole list, or of the part of the store that was read for the page. */
  readonly unreadable: readonly UnreadableObject[]
}

/** GET of a collection. */
export async function list(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const options = parseListOptions(request.served, request.query)
  if (options instanceof StatusError) return options
  const representation = negotiate(context, request, 'list')
  if (representation instanceof StatusError) return representation
  const found = await find(context, request, options)
  if (found instanceof StatusError) return found
  warnOfUnreadable(request, found.unreadable)
  const { contentType } = representation
  return { code: 200, contentType, body: representation.list(found.items, found.meta) }
}

/** The objects that the options of a list select, of which `limit` and `continue` may leave a page. */
export async function find(
  context: ServerContext,
  request: ApiRequest,
  options: ListOptions,
): Promise<Found | StatusError> {
  const token = options.continueToken === '' ? undefined : decodeContinue(options.continueToken)
  if (token instanceof StatusError) return token
  if (token === undefined && options.match === 'Exact') {
    const late = await awaitRevision(context, options.revision ?? 0)
    return late ?? readPage(context, request, options, { revision: options.revision!, after: '' })
  }
  if (token !== undefined) return readPage(context, request, options, token)
  const late = await awaitRevision(context, options.revision ?? (await context.store.revision()))
  if (late !== undefined) return late
  return readCache(context, request, options)
}

/** The first page, or all, of the current state of the cache. */
function readCache(context: ServerContext, request: ApiRequest, options: ListOptions): Found {
  const { selection, limit = Number.POSITIVE_INFINITY } = options
  const cache = context.feed.cache(request.served.resource)
  const prefix = storagePrefix(request.served.resource, request.namespace)
  const all = cache.under(prefix)
  const items = selection.everything ? all : all.filter((item) => selection.matches(item))
  const { revision } = context.feed
  const unreadable = unreadableUnder(context, request.served.resource, request.namespace)
  if (items.length <= limit) return { items, meta: { revision }, unreadable }
  const page = items.slice(0, limit)
  const token = { revision, after: page.at(-1)!.key.slice(prefix.length) }
  const rest = selection.everything ? { remaining: items.length - limit } : {}
  const meta = { revision, continueToken: encodeContinue(token), ...rest }
  return { items: page, meta, unreadable }
}

/** A page at an older revision, from the store. */
async function readPage(
  context: ServerContext,
  request: ApiRequest,
  options: ListOptions,
  token: ContinueToken,
): Promise<Found | StatusError> {
  const { selection, limit = Number.POSITIVE_INFINITY } = options
  const { resource } = request.served
  const prefix = storagePrefix(resource, request.namespace)
  const items: Item[] = []
  const unreadable: UnreadableObject[] = []
  let { revision } = token
  let after = token.after === '' ? undefined : `${prefix}${token.after}`
  while (true) {
    const page = await context.store.list({
      prefix,
      limit: selection.everything ? Math.min(limit, Number.MAX_SAFE_INTEGER) : SCAN,
      ...(after === undefined ? {} : { after }),
      ...(revision === 0 ? {} : { revision }),
    })
    if (page.refused !== undefined) return refusalOf(page, token)
    revision = page.revision
    const read = page.entries.map((entry) => readItem(resource, entry))
    unreadable.push(...read.filter(isUnreadable))
    const fresh = read.filter(isReadable)
    const matching = selection.everything ? fresh : fresh.filter((item) => selection.matches(item))
    const taken = matching.slice(0, limit - items.length)
    items.push(...taken)
    const isCut = taken.length < matching.length
    after = isCut ? items.at(-1)!.key : (page.entries.at(-1)?.key ?? after)
    if (!isCut && page.remaining === 0) return { items, meta: { revision }, unreadable }
    if (items.length < limit) continue
    const next = { revision, after: after!.slice(prefix.length) }
    const rest = selection.everything
      ? { remaining: page.remaining + matching.length - taken.length }
      : {}
    const meta = { revision, continueToken: encodeContinue(next), ...rest }
    return { items, meta, unreadable }
  }
}

function refusalOf(refusal: RevisionRefusal, token: ContinueToken): StatusError {
  const { refused, oldest, newest } = refusal
  if (refused === 'future') return revisionTooLarge(token.revision, newest)
  if (token.after === '') return expired(token.revision, oldest)
  return continueExpired(encodeContinue({ revision: 0, after: token.after }))
}

/** Where a paged list continues: after which key, and at which revision. */
interface ContinueToken {
  /** 0: the newest revision at the time of the request (an inconsistent continuation). */
  readonly revision: number
  /** The last key of the page before, without the storage prefix of the list. */
  readonly after: string
}

function encodeContinue(token: ContinueToken): string {
  const document = { v: VERSION, rv: token.revision, start: token.after }
  return Buffer.from(JSON.stringify(document)).toString('base64url')
}

function decodeContinue(text: string): ContinueToken | StatusError {
  try {
    const document = JSON.parse(Buffer.from(text, 'base64url').toString()) as Json
    if (isJsonObject(document) && document['v'] === VERSION) {
      const revision = document['rv']
      const after = stringAt(document, 'start')
      if (Number.isSafeInteger(revision) && Number(revision) >= 0 && after !== '') {
        return { revision: Number(revision), after }
      }
    }
  } catch {
    // A token that cannot be decoded is refused below.
  }
  return badRequest('continue key is not valid: it must be what an earlier list returned')
}
