import type { ApiClient } from '../../../../client/http/api-client.ts'
import { causeOf } from '../../../../client/http/failure/failure.ts'
import type { ClusterEvent } from '../../../../cluster/cluster-event.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { NodeProxyError } from '../../../../lib/error.ts'
import type { Random } from '../../../../lib/random.ts'
import { createClusterWatcher } from '../../../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../../../watch/problem.ts'

/** With what the cluster is listed, and for whom. */
export interface ListParts {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly nodeName: string
  readonly proxyName: string | undefined
  /** Ends the wait. */
  readonly signal: AbortSignal
}

/** The cluster as the API server lists it. */
export interface ListedCluster {
  readonly events: readonly ClusterEvent[]
  readonly problems: readonly WatchProblem[]
}

/** For all lists together. */
const DEADLINE_MS = 60_000
/** After the first request that failed. */
const FAILED_MS = 5_000
/** For the Node, which may be forbidden to read, and for Service ranges. */
const NODE_MS = 10_000

/** Lists what the daemon watches, by the same watcher, and ends it. Throws NP_NODEPROXY_API_UNREACHABLE. */
export async function listCluster(parts: ListParts): Promise<ListedCluster> {
  const { client, clock, signal } = parts
  const events: ClusterEvent[] = []
  const problems: WatchProblem[] = []
  const stop = new AbortController()
  let isListed = false
  let failure = 'it did not answer'
  let cancelGrace: (() => void) | undefined
  const end = () => stop.abort()
  const cancelDeadline = clock.after(DEADLINE_MS, end)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const watcher = createClusterWatcher({
    ...parts,
    nodeTimeoutMs: NODE_MS,
    onEvents: (batch) => void (isListed || events.push(...batch)),
    onProblem: (problem) => void problems.push(problem),
    onSynced() {
      isListed = true
      end()
    },
    reporter: {
      failed({ verb, resource }, given) {
        if (stop.signal.aborted) return
        failure = `cannot ${verb} ${resource}: ${causeOf(given)}`
        // Only the Node and Service ranges may stay unknown.
        if (resource !== 'nodes' && resource !== 'servicecidrs')
          cancelGrace ??= clock.after(FAILED_MS, end)
      },
      succeeded: () => {},
    },
  })
  await watcher.run(stop.signal).finally(() => {
    cancelDeadline()
    cancelGrace?.()
    signal.removeEventListener('abort', end)
  })
  if (!isListed) throw unreachable(client.server, failure)
  return { events, problems }
}

function unreachable(server: string, failure: string): NodeProxyError {
  const message = `the cluster could not be listed from ${server}: ${failure}`
  return new NodeProxyError('NP_NODEPROXY_API_UNREACHABLE', message, {
    object: server,
    hint: 'give --kubeconfig or --config as node-proxy gets it, and check that the API server runs',
  })
}
