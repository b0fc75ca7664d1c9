import type { ApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import { createDeadline } from '../client/http/deadline.ts'
import type { ApiFailure, ApiResult } from '../client/http/failure.ts'
import { timeoutFailure } from '../client/http/network-failure.ts'
import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import { type Clock, sleep } from '../lib/clock.ts'

/** What the probe works with. */
export interface ServerProbeOptions {
  readonly client: Pick<ApiClient, 'get' | 'server'>
  readonly clock: Clock
  readonly reporter: RequestReporter
  /** The states of all watches whose events show that the server answers. */
  readonly states: () => readonly ReflectorState[]
}

/** The probe reads `/version`: every authenticated user may do so, and it costs the server almost nothing. */
export const PROBE = { verb: 'get', resource: 'version' } as const
const SILENCE_MS = 20_000
const TIMEOUT_MS = 8_000

/**
 * Reads `/version` when watches are open and no event has arrived on any of them for 20 s, because the watch of a
 * quiet cluster looks like that of a server that hangs. If there is no answer within 8 s, it reports a failure, and
 * repeats the request every 20 s until there is an answer. It leaves the watches open: otherwise a server that is only
 * slow would have to serve all lists again. When the clock was set back, events from before do not count, and the 20 s
 * begin again.
 */
export async function probeServer(options: ServerProbeOptions, signal: AbortSignal): Promise<void> {
  const { clock, reporter, states } = options
  let probedAt = clock.now()
  let isFailing = false
  while (!signal.aborted) {
    const now = clock.now()
    probedAt = Math.min(probedAt, now)
    const eventTimes = states().map(({ lastEventAt }) => lastEventAt ?? 0)
    const heardAt = Math.max(probedAt, ...eventTimes.filter((at) => at <= now))
    const restMs = heardAt + SILENCE_MS - now
    if (restMs > 0) await sleep(clock, restMs, signal)
    if (restMs > 0 && !isFailing) continue
    probedAt = clock.now()
    // Feeds without a watch make requests, which fail on their own.
    if (!isFailing && !states().some(({ connected }) => connected)) continue
    const failure = silenceFailure(await readVersion(options, signal))
    if (signal.aborted) return
    isFailing = failure !== undefined
    if (failure === undefined) reporter.succeeded(PROBE.resource)
    else reporter.failed(PROBE, failure)
  }
}

async function readVersion(
  { client, clock }: Pick<ServerProbeOptions, 'client' | 'clock'>,
  signal: AbortSignal,
): Promise<ApiResult<unknown>> {
  const deadline = createDeadline(clock, TIMEOUT_MS, signal)
  const answer = await client.get('/version', { signal: deadline.signal })
  deadline.clear()
  if (answer.ok || !deadline.expired()) return answer
  return { ok: false, failure: timeoutFailure(client.server, TIMEOUT_MS) }
}

/** The failure if the server did not answer; any answer shows that it does not hang. */
function silenceFailure(answer: ApiResult<unknown>): ApiFailure | undefined {
  if (answer.ok || answer.failure.code > 0) return undefined
  return answer.failure.errorCode === 'NP_CLIENT_GARBAGE' ? undefined : answer.failure
}
