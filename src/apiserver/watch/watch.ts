import type { JsonObject } from '../../lib/json.ts'
import type { Item } from '../cache/item.ts'
import type { ServerContext } from '../context/server-context.ts'
import { encodeStored } from '../encoding/codec.ts'
import type { Representation } from '../negotiation/answer-form.ts'
import { negotiateEvents } from '../negotiation/negotiate.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { endResponse } from '../request/end-response.ts'
import {
  parseCount,
  parseFlag,
  parseRevision,
  parseSelection,
  type Selection,
} from '../request/list-options.ts'
import { type ServedVersion, storagePrefix } from '../resource/resource.ts'
import {
  expired,
  invalidOptions,
  StatusError,
  serviceUnavailable,
  statusDocument,
  tooManyRequests,
} from '../status/status.ts'
import { awaitRevision } from '../verbs/read-newest.ts'
import { eventFrame, WatchStream } from './watch-stream.ts'

const INITIAL_EVENTS_END = { annotations: { 'k8s.io/initial-events-end': 'true' } }

/** A bookmark is sent this long before the deadline. */
const LAST_BOOKMARK_MS = 2000

interface Start {
  readonly initial: readonly Item[]
  readonly from: number
  /** The revision of the initial objects. */
  readonly revision: number
}

/** A watch, by `?watch` or by its path: an endless answer of one JSON event per line. */
export async function watch(
  context: ServerContext,
  request: StreamRequest,
): Promise<HandlerResult> {
  const options = parseWatchOptions(request.served, request.query)
  if (options instanceof StatusError) return options
  const representation = negotiateEvents(context, request)
  if (representation instanceof StatusError) return representation
  const { watches } = context
  if (watches.isClosed) return serviceUnavailable('the server is stopping')
  if (watches.isFull) return tooManyRequests('too many watches at one time', 5)
  const needsNewest = options.revision === undefined
  const wanted = needsNewest ? await context.store.revision() : options.revision
  const late = await awaitRevision(context, wanted)
  if (late !== undefined) return late
  // The event `close`, which ends a watch, has passed already.
  if (request.response.destroyed) return STREAMING
  const start = startOf(context, request, options)
  open(request)
  if (start instanceof StatusError) {
    const document = Buffer.from(JSON.stringify(statusDocument(start.status)))
    endResponse(request.response, {
      last: eventFrame('ERROR', document),
      stalledMs: context.limits.stalledClientTimeout,
    })
    return STREAMING
  }
  run(context, request, { options, representation, start })
  return STREAMING
}

/** Where the watch begins: with the present objects, or with the changes after a revision. */
function startOf(
  context: ServerContext,
  request: StreamRequest,
  options: WatchOptions,
): Start | StatusError {
  const { resource } = request.served
  const cache = context.feed.cache(resource)
  const { revision = 0, initialEvents = revision === 0 } = options
  if (initialEvents || revision === 0) {
    const initial = initialEvents ? cache.under(storagePrefix(resource, request.namespace)) : []
    return { initial, from: cache.window.next, revision: context.feed.revision }
  }
  const from = cache.window.numberAfter(revision)
  if (from === undefined) return expired(revision, cache.window.floor)
  return { initial: [], from, revision }
}

function open(request: StreamRequest): void {
  request.response.writeHead(200, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
  })
  request.response.flushHeaders()
}

interface Run {
  readonly options: WatchOptions
  readonly representation: Representation
  readonly start: Start
}

function run(
  context: ServerContext,
  request: StreamRequest,
  { options, representation, start }: Run,
): void {
  const { clock, feed, limits, watches } = context
  const { served, response } = request
  const { selection } = options
  const stream = new WatchStream({
    response,
    cache: feed.cache(served.resource),
    representation,
    matches: (item) => isRequested(request, item) && selection.matches(item),
    initial: start.initial,
    initialEnd:
      options.initialEvents && options.bookmarks
        ? initialEventsEnd(representation, start.revision)
        : undefined,
    from: start.from,
    revision: start.revision,
    clock,
    stalledMs: limits.stalledClientTimeout,
  })
  let known = start.revision
  const remind = (): void => {
    if (!options.bookmarks || !stream.isCaughtUp || feed.revision <= known) return
    known = feed.revision
    stream.write(bookmark(representation, known))
  }
  const lifetime = durationMs(context, options)
  const cancels = [
    clock.after(lifetime, () => stream.end()),
    clock.after(Math.max(0, lifetime - LAST_BOOKMARK_MS), remind),
  ]
  const repeat = (): void => {
    remind()
    cancels[2] = clock.after(limits.bookmarkPeriod, repeat)
  }
  cancels[2] = clock.after(limits.bookmarkPeriod, repeat)
  const forget = watches.add(() => stream.end())
  response.once('close', () => {
    forget()
    for (const cancel of cancels) cancel()
  })
}

/** Whether the path of the watch includes the object: it names the object, its namespace, or all namespaces. */
function isRequested({ namespace, name }: StreamRequest, item: Item): boolean {
  if (name !== '' && item.fields['metadata.name'] !== name) return false
  return namespace === '' || item.namespace === namespace
}

/**
 * The requested duration up to the server's limit; without a request, a random duration below the limit, so
 * that clients do not reconnect at the same time.
 */
function durationMs(context: ServerContext, options: WatchOptions): number {
  const { limits, random } = context
  const { timeoutSeconds } = options
  if (timeoutSeconds !== undefined) return Math.min(timeoutSeconds * 1000, limits.watchDuration)
  const half = Math.ceil(limits.watchDuration / 2)
  return half + random.below(half)
}

/** A bookmark: an object with only a revision, in the client's representation. */
function bookmark(representation: Representation, revision: number): Buffer {
  return frame(representation, revision, {})
}

/** The bookmark that follows the initial objects. */
function initialEventsEnd(representation: Representation, revision: number): Buffer {
  return frame(representation, revision, INITIAL_EVENTS_END)
}

function frame(representation: Representation, revision: number, metadata: JsonObject): Buffer {
  const value = encodeStored({ metadata: { creationTimestamp: null, ...metadata } })
  return eventFrame('BOOKMARK', representation.event({ value, revision }, false))
}

interface WatchOptions {
  readonly selection: Selection
  /** Undefined: the newest. 0: any. */
  readonly revision: number | undefined
  /**
   * True: send the present objects as ADDED and, if bookmarks are requested, one that ends them. False: do not.
   * Undefined: send them without that bookmark when no revision is given.
   */
  readonly initialEvents: boolean | undefined
  readonly bookmarks: boolean
  /** Undefined: the server decides. */
  readonly timeoutSeconds: number | undefined
}

function parseWatchOptions(
  served: ServedVersion,
  query: URLSearchParams,
): WatchOptions | StatusError {
  const selection = parseSelection(served, query)
  if (selection instanceof StatusError) return selection
  const revision = parseRevision(query)
  if (revision instanceof StatusError) return revision
  const timeoutSeconds = parseCount(query, 'timeoutSeconds')
  if (timeoutSeconds instanceof StatusError) return timeoutSeconds
  const match = query.get('resourceVersionMatch') ?? ''
  const hasInitial = query.has('sendInitialEvents')
  if (hasInitial && match !== 'NotOlderThan') {
    return invalidOptions(
      'resourceVersionMatch',
      'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    )
  }
  if (!hasInitial && match !== '') {
    return invalidOptions(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    )
  }
  return {
    selection,
    revision,
    initialEvents: hasInitial ? parseFlag(query, 'sendInitialEvents') : undefined,
    bookmarks: parseFlag(query, 'allowWatchBookmarks'),
    timeoutSeconds: timeoutSeconds === 0 ? undefined : timeoutSeconds,
  }
}
