import { sleep } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { CallResult } from '../session/api.ts'
import { type CallFailure, failureError } from '../session/call-failure.ts'
import { NAMESPACE } from './placement.ts'
import { type MoveEnvironment, sendAgain, type UsedApi } from './requests.ts'

const NAME = 'orchctl-take-over'
const COLLECTION = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
const PATH = `${COLLECTION}/${NAME}`
const DURATION_S = 15
const MAX_DURATION_S = 300
const RENEW_MS = 5_000
/** The oldest renewal with which a write is sent; the rest of the duration is for the write itself. */
const WRITE_MS = 10_000

/** The failure of a write that is not sent, because the answer to the renewal before it came too late. */
const LATE: CallFailure = {
  code: 0,
  reason: 'Timeout',
  message: `the Lease was renewed, but the answer took ${WRITE_MS / 1_000} s or longer`,
  errorCode: 'NP_CLIENT_TIMEOUT',
  causes: [],
}

/** The right of one run to change the cluster. */
export interface HeldLease {
  /** The API. Its requests renew the Lease in time; a write is sent only while the Lease is certainly held. */
  readonly api: UsedApi
  release(): Promise<void>
}

/**
 * Acquires the Lease that excludes a second run. Whether the holder of an existing Lease lives is observed, not computed
 * from its times: the clocks of two machines may differ.
 * @throws NP_ORCHCTL_TAKE_OVER where another run renews it
 */
export async function acquireLease(
  holder: string,
  environment: MoveEnvironment,
): Promise<HeldLease> {
  const { clock, notice, signal, pollMs } = environment
  let observed: { readonly version: string; readonly since: number } | undefined
  for (;;) {
    signal.throwIfAborted()
    const lease = leaseIn(await sendAgain({ path: PATH }, environment))
    const version = stringAt(lease, 'metadata', 'resourceVersion')
    const other = stringAt(lease, 'spec', 'holderIdentity')
    // It is ours where the answer to an earlier request was lost.
    const isFree = lease === undefined || other === '' || other === holder
    if (observed !== undefined && observed.version !== version && !isFree) throw heldBy(other)
    const waitedMs = observed === undefined ? 0 : clock.now() - observed.since
    if (isFree || (observed !== undefined && waitedMs >= durationMsOf(lease))) {
      const sentAt = clock.now()
      const written = await writeLease(lease, holder, environment)
      if (written !== undefined) return new RenewedLease(written, sentAt, { holder, environment })
    } else if (observed === undefined) {
      observed = { version, since: clock.now() }
      const seconds = durationMsOf(lease) / 1_000
      notice(
        `${other} has the Lease ${NAMESPACE}/${NAME}: wait up to ${seconds} s whether it lives`,
      )
    }
    await sleep(clock, pollMs, signal)
  }
}

class RenewedLease implements HeldLease {
  readonly api: UsedApi
  readonly #holder: string
  readonly #environment: MoveEnvironment
  #lease: JsonObject
  #renewedAt: number
  #renewing: Promise<CallFailure | undefined> | undefined

  constructor(
    lease: JsonObject,
    renewedAt: number,
    parts: { readonly holder: string; readonly environment: MoveEnvironment },
  ) {
    this.#lease = lease
    this.#renewedAt = renewedAt
    this.#holder = parts.holder
    this.#environment = parts.environment
    const { api } = parts.environment
    this.api = {
      request: async (call) => {
        const isWrite = call.method !== undefined && call.method !== 'GET'
        const failure = await this.#confirm(isWrite)
        return failure === undefined ? api.request(call) : { ok: false, failure }
      },
      requestText: async (call) => {
        await this.#confirm(false)
        return api.requestText(call)
      },
    }
  }

  /** Deletes the Lease unless another run has it: a cluster that has gone back keeps nothing of the command. */
  async release(): Promise<void> {
    const { api, notice } = this.#environment
    const resourceVersion = stringAt(this.#lease, 'metadata', 'resourceVersion')
    const body = { preconditions: { resourceVersion } }
    const result = await api.request({ method: 'DELETE', path: PATH, body }).catch(() => undefined)
    if (result?.ok === true || (result !== undefined && [404, 409].includes(result.failure.code)))
      return
    notice(`the Lease ${NAMESPACE}/${NAME} is not deleted; it expires in ${DURATION_S} s`)
  }

  /** @returns why a write cannot be sent. @throws NP_ORCHCTL_TAKE_OVER where another run has the Lease */
  async #confirm(isWrite: boolean): Promise<CallFailure | undefined> {
    const { clock } = this.#environment
    if (clock.now() - this.#renewedAt < RENEW_MS) return undefined
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    const failure = await this.#renewing
    const isOld = clock.now() - this.#renewedAt >= WRITE_MS
    return isWrite && isOld ? (failure ?? LATE) : undefined
  }

  async #renew(): Promise<CallFailure | undefined> {
    const { api, clock } = this.#environment
    const sentAt = clock.now()
    const first = await api.request(putCall(this.#lease, this.#holder, sentAt))
    const isConflict = !first.ok && [404, 409].includes(first.failure.code)
    // The answer to an earlier renewal may have been lost.
    const lease = isConflict ? leaseIn(await api.request({ path: PATH })) : undefined
    const other = stringAt(lease, 'spec', 'holderIdentity')
    if (isConflict && other !== this.#holder) throw heldBy(other || 'another run')
    const result =
      lease === undefined ? first : await api.request(putCall(lease, this.#holder, sentAt))
    if (!result.ok) return result.failure
    this.#lease = result.value.body
    this.#renewedAt = sentAt
    return undefined
  }
}

function leaseIn(result: CallResult): JsonObject | undefined {
  if (result.ok) return result.value.body
  if (result.failure.code === 404) return undefined
  throw failureError(result.failure)
}

/** Undefined: another run was faster. */
async function writeLease(
  lease: JsonObject | undefined,
  holder: string,
  environment: MoveEnvironment,
): Promise<JsonObject | undefined> {
  const now = environment.clock.now()
  const body = leaseOf(undefined, holder, now)
  const call =
    lease === undefined
      ? ({ method: 'POST', path: COLLECTION, body } as const)
      : putCall(lease, holder, now)
  const result = await sendAgain(call, environment)
  if (result.ok) return result.value.body
  if (result.failure.code === 404 || result.failure.code === 409) return undefined
  throw failureError(result.failure)
}

function putCall(lease: JsonObject, holder: string, now: number) {
  return { method: 'PUT', path: PATH, body: leaseOf(lease, holder, now) } as const
}

/** An update is refused when the Lease has changed since it was read. */
function leaseOf(lease: JsonObject | undefined, holder: string, now: number): JsonObject {
  const time = new Date(now).toISOString().replace('Z', '000Z')
  const isOurs = stringAt(lease, 'spec', 'holderIdentity') === holder
  const acquireTime = (isOurs && stringAt(lease, 'spec', 'acquireTime')) || time
  const metadata: JsonObject = { name: NAME, namespace: NAMESPACE }
  if (lease !== undefined) {
    metadata['resourceVersion'] = stringAt(lease, 'metadata', 'resourceVersion')
  }
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: DURATION_S,
    acquireTime,
    renewTime: time,
  }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
}

function durationMsOf(lease: JsonObject | undefined): number {
  const seconds = Number(valueAt(lease, 'spec', 'leaseDurationSeconds'))
  return (seconds > 0 ? Math.min(seconds, MAX_DURATION_S) : DURATION_S) * 1_000
}

function heldBy(other: string): NodeProxyError {
  const message = `another run moves this cluster: ${other} renews the Lease ${NAMESPACE}/${NAME}`
  return new NodeProxyError('NP_ORCHCTL_TAKE_OVER', message, {
    hint: 'wait until it has ended, or interrupt it there; then run the command again',
  })
}
