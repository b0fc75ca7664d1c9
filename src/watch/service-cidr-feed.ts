import type { ApiFailure, ApiResult } from '../client/http/failure/failure.ts'
import { readToEnd } from '../client/http/list-stream.ts'
import { createBackoff } from '../client/reflector/backoff.ts'
import type { Reflector } from '../client/reflector/reflector.ts'
import { DEFAULT_TIMING } from '../client/reflector/reflector-context.ts'
import type { ClusterEvent } from '../cluster/cluster-event.ts'
import type { Cidr } from '../lib/ip.ts'
import { sleep } from '../lib/sleep.ts'
import { decodeServiceCIDR } from '../resources/service-cidr.ts'
import { createFeed, type FeedContext } from './feed.ts'

/** What the feed works with, and the callbacks that it calls. */
export interface ServiceCidrFeedOptions {
  readonly context: FeedContext
  /** Called with changes in their order, never with an empty batch. */
  readonly onEvents: (batch: readonly ClusterEvent[]) => void
  /** Called when the objects are listed, after `onEvents` got them, and when the server refuses to list them. */
  readonly onSettled: () => void
  /** Called once while the server has no such API, or permits no list of it. */
  readonly onRefused: (failure: ApiFailure) => void
}

const PATH = '/apis/networking.k8s.io/v1/servicecidrs'
const RESOURCE = 'servicecidrs'
/** How often the feed looks for what the server did not have or did not permit. */
const CHECK_MS = 5 * 60_000
const DELETED = { kind: 'serviceCIDR', value: undefined } as const

/**
 * Follows the ServiceCIDR objects until `signal` is aborted. Servers before Kubernetes 1.33 have none and old roles do not permit
 * to list them. Such an answer is no failure: the last known ranges stay, and the feed looks again every five minutes. An object that
 * is being deleted counts until it is gone, which is when no Service has an address of it. Rejects only for a bug in a callback.
 */
export async function followServiceCidrs(
  options: ServiceCidrFeedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { context, onSettled, onRefused } = options
  const { clock, random, timing, reporter } = context
  const { backoffBaseMs: baseMs, backoffMaxMs: maxMs } = { ...DEFAULT_TIMING, ...timing }
  const backoff = createBackoff({ random, baseMs, maxMs })
  let isReported = false
  let known: readonly string[] = []
  while (!signal.aborted) {
    const failure = await probe(context, signal)
    if (signal.aborted) break
    if (failure === undefined) {
      isReported = false
      const feed = feedOf(options, known)
      await feed.run(signal)
      known = [...feed.keys()]
      await sleep(clock, backoff.next(), signal)
    } else if (failure.code === 403 || failure.code === 404) {
      reporter.succeeded(RESOURCE)
      if (!isReported) onRefused(failure)
      isReported = true
      onSettled()
      await sleep(clock, CHECK_MS, signal)
    } else {
      reporter.failed({ verb: 'list', resource: RESOURCE }, failure)
      await sleep(clock, backoff.next(), signal)
    }
  }
}

/** Why the objects cannot be listed; undefined: they can. */
async function probe(
  { client }: FeedContext,
  signal: AbortSignal,
): Promise<ApiFailure | undefined> {
  const opened = await client.list(PATH, { query: { limit: '1' }, signal })
  const page: ApiResult<unknown> = opened.ok ? await readToEnd(opened.value) : opened
  return page.ok ? undefined : page.failure
}

/** `leftover`: names of objects of an earlier feed, which are gone unless they are listed again. */
function feedOf(
  { context, onEvents, onSettled }: ServiceCidrFeedOptions,
  leftover: Iterable<string>,
): Reflector {
  const unseen = new Set(leftover)
  return createFeed<readonly Cidr[]>(context, {
    name: RESOURCE,
    resource: { path: PATH, query: {}, endWhenMissing: true },
    decode: decodeServiceCIDR,
    onChanges(changes) {
      for (const { key } of changes) unseen.delete(key)
      onEvents(changes.map(({ key, value }) => ({ kind: 'serviceCIDR', name: key, value })))
    },
    onListed() {
      const gone = [...unseen].map((name) => ({ ...DELETED, name }))
      unseen.clear()
      if (gone.length > 0) onEvents(gone)
      onSettled()
    },
  })
}
