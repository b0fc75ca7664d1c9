import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import type { ApiFailure, ApiResult } from '../client/http/failure.ts'
import { readToEnd } from '../client/http/list-stream.ts'
import { readIdentity } from '../client/reflector/identity.ts'
import type { Change, Projection } from '../client/reflector/object-tracker.ts'
import { createReflector, type Reflector } from '../client/reflector/reflector.ts'
import type {
  LossReason,
  ReflectorResource,
  ReflectorTiming,
} from '../client/reflector/reflector-context.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Decoded, Problem } from '../resources/problem.ts'

/** The resources that a node follows, by their names in the API. */
export type FollowedResource =
  | 'services'
  | 'endpointslices'
  | 'endpoints'
  | 'nodes'
  | 'servicecidrs'
  | 'pods'
  | 'namespaces'
  | 'networkpolicies'
  | 'clusternetworkpolicies'
  | 'leases'

/** An object from the server that cannot be used; every other object is unaffected. */
export interface WatchProblem {
  readonly resource: FollowedResource
  /** `namespace/name`; empty when unknown. */
  readonly key: string
  /** `invalid`: treated as absent; `partial`: used without some parts; `lost`: skipped, its name is unknown. */
  readonly kind: 'invalid' | 'partial' | 'lost'
  readonly problems: readonly Problem[]
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  oversized: 'is larger than 8 MiB and was skipped',
  garbage: 'is not the JSON of an object and was skipped',
  nameless: 'has no usable name and was skipped',
}

/** What all feeds of one watcher share. */
export interface FeedContext {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly timing: Partial<ReflectorTiming>
  readonly onProblem: (problem: WatchProblem) => void
  readonly reporter: RequestReporter
}

/** The resource of a feed, its decoder and the callbacks that it calls. */
export interface FeedOptions<T> {
  /** The name of the resource in problems and in reports of failed requests. */
  readonly name: WatchProblem['resource']
  readonly resource: ReflectorResource
  /** An object whose decoded value is undefined counts as absent. */
  readonly decode: (raw: unknown) => Decoded<T | undefined>
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /** Called after each complete list. */
  readonly onListed: () => void
  /** Keys of objects that an earlier feed reported; they count as deleted unless they are listed again. */
  readonly earlier?: Iterable<string>
}

/** Milliseconds until the next attempt: after a first refusal, and after each further one without a success in between. */
export const RECHECK_MS = { first: 30_000, further: 5 * 60_000 } as const

/**
 * Creates a reflector for one resource that decodes its objects. Objects that cannot be decoded, or only in part, are
 * reported to `onProblem`, and requests to `reporter`.
 */
export function createFeed<T>(context: FeedContext, options: FeedOptions<T>): Reflector {
  const { name, resource, decode, onChanges, onListed } = options
  const unseen = new Set(options.earlier)

  function project(raw: unknown): Projection<T, Problem> {
    const decoded = decode(raw)
    if (decoded.ok && decoded.warnings.length > 0) {
      const key = readIdentity(raw)?.key ?? ''
      const problems = decoded.warnings
      context.onProblem({ resource: name, key, kind: 'partial', problems })
    }
    return decoded
  }

  const reflector = createReflector<T, Problem>({
    client: context.client,
    clock: context.clock,
    random: context.random,
    timing: context.timing,
    resource,
    decode: project,
    onChanges(changes) {
      for (const { key } of changes) unseen.delete(key)
      onChanges(changes)
    },
    onListed() {
      const gone = [...unseen].map((key) => ({ key, value: undefined }))
      unseen.clear()
      if (gone.length > 0) onChanges(gone)
      onListed()
    },
    onInvalid: (key, problems) =>
      context.onProblem({ resource: name, key, kind: 'invalid', problems }),
    onLost: (reason) => context.onProblem(lossProblem(name, reason)),
    onFailure: (failure, verb) => context.reporter.failed({ verb, resource: name }, failure),
    onConnected: () => context.reporter.succeeded(name),
  })
  return { ...reflector, keys: () => new Set([...unseen, ...reflector.keys()]) }
}

/** Why the objects of a collection cannot be listed; undefined if they can. */
export async function probeList(
  { client }: FeedContext,
  path: string,
  signal: AbortSignal,
): Promise<ApiFailure | undefined> {
  const opened = await client.list(path, { query: { limit: '1' }, signal })
  const page: ApiResult<unknown> = opened.ok ? await readToEnd(opened.value) : opened
  return page.ok ? undefined : page.failure
}

/** Whether the server does not permit the request, or does not have the resource. */
export function isRefusal({ code }: ApiFailure): boolean {
  return code === 403 || code === 404
}

/** A reporter that calls `end` for a refusal, which is then no failure. */
export function endingAtRefusal(reporter: RequestReporter, end: () => void): RequestReporter {
  return {
    succeeded: (resource) => reporter.succeeded(resource),
    failed(operation, failure) {
      if (isRefusal(failure)) end()
      else reporter.failed(operation, failure)
    },
  }
}

/** The problem of an object that the client skipped before its name could be read. */
function lossProblem(resource: WatchProblem['resource'], reason: LossReason): WatchProblem {
  const problem = { field: '', value: '(unreadable)', message: LOSSES[reason] }
  return { resource, key: '', kind: 'lost', problems: [problem] }
}
