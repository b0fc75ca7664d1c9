import type { ApiClient } from '../../../client/http/api-client.ts'
import type { RequestReporter } from '../../../client/http/api-failures.ts'
import { isTerminating } from '../../../client/http/failure.ts'
import type { Clock } from '../../../lib/clock.ts'
import { stringAt } from '../../../lib/json.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'
import { NodeEvents } from './node-events.ts'

/** What sending Events needs. */
export interface EventSenderParts {
  readonly client: Pick<ApiClient, 'create'>
  readonly clock: Clock
  readonly nodeName: string
  readonly metrics: Pick<Metrics, 'events'>
  readonly apiFailures: RequestReporter
}

const EVENTS = { verb: 'create', resource: 'events' } as const

/**
 * Creates the `NodeEvents` of the daemon: they are sent to the API server, counted in its metrics, and failures are
 * reported. An Event that is refused because its namespace is being deleted does not count as a failure.
 */
export function eventSender(parts: EventSenderParts): NodeEvents {
  const { client, clock, nodeName, metrics, apiFailures } = parts
  return new NodeEvents({
    clock,
    nodeName,
    async send(event) {
      const namespace = stringAt(event, 'metadata', 'namespace')
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`
      const result = await client.create(path, event)
      if (result.ok) return apiFailures.succeeded(EVENTS.resource)
      if (!isTerminating(result.failure)) apiFailures.failed(EVENTS, result.failure)
      throw new Error(result.failure.message)
    },
    onOutcome: (reason, outcome) => metrics.events.inc({ reason, outcome }),
  })
}
