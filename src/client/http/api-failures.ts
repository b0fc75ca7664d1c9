import type { Clock } from '../../lib/clock.ts'
import { FailureLog, type LogFields } from '../../telemetry/failure-log.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { scrubText } from '../../telemetry/redact.ts'
import { type ApiFailure, causeOf } from './failure.ts'
import { type FailureReason, factsOf, reasonOf } from './failure-reason.ts'

/** The purpose of a request. */
export interface ApiOperation {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'patch' | 'delete' | 'discover'
  /** One of a few names, because metrics use it as a label: `services`. */
  readonly resource: string
}

/** Receives the outcomes of requests. */
export interface RequestReporter {
  /** A request failed, or a watch broke. */
  failed(operation: ApiOperation, failure: ApiFailure): void
  /** A request for this resource succeeded, or its watch was opened. */
  succeeded(resource: string): void
}

export interface ApiFailuresOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Origin of the API server. */
  readonly server: string
  readonly metrics?: Pick<Metrics, 'apiFailures' | 'apiFailing'>
  /** Fields of every log record, besides the record's own. */
  readonly fields?: LogFields
}

/** Why requests for a resource fail at present. */
export interface PresentFailure {
  readonly reason: FailureReason
  /** Cause and remedy in one line. */
  readonly description: string
}

interface Failing extends PresentFailure {
  readonly kind: string
  /** First failure since the resource last worked, ms since the epoch. */
  readonly since: number
  /** Cancels the wait that shows whether a success lasts; undefined before a success. */
  cancel: (() => void) | undefined
}

interface Recovered {
  readonly resources: string[]
  seconds: number
}

/** Milliseconds without a failure after which a success counts: a watch may be opened and break at once. */
const SETTLE_MS = 10_000

/**
 * Reports why requests to the API server fail: one log record per minute for each kind of failure, the number of
 * further failures, and the end of the failure; a counter by resource and reason; and the present cause for `/readyz`.
 * A kind is a reason; if resources fail independently (RBAC), the resource is part of the kind.
 */
export class ApiFailures implements RequestReporter {
  readonly #options: ApiFailuresOptions
  readonly #log: FailureLog
  readonly #failing = new Map<string, Failing>()
  /** By kind: resources that work again while others still fail. */
  readonly #recovered = new Map<string, Recovered>()

  constructor(options: ApiFailuresOptions) {
    this.#options = options
    this.#log = new FailureLog(options)
  }

  failed(operation: ApiOperation, failure: ApiFailure): void {
    const reason = reasonOf(failure)
    if (reason === undefined) return
    const { clock, metrics } = this.#options
    const { resource } = operation
    const { scope, remedy } = factsOf(reason)
    const kind = scope === 'server' ? reason : `${reason} ${resource}`
    const before = this.#failing.get(resource)
    before?.cancel?.()
    const cause = scrubText(causeOf(failure))
    const description = `${cause}; ${remedy}`
    const since = before?.since ?? clock.now()
    this.#failing.set(resource, { reason, kind, since, description, cancel: undefined })
    metrics?.apiFailures.inc({ resource, reason })
    metrics?.apiFailing.set({ resource, reason }, 1)
    if (before !== undefined && before.kind !== kind) this.#clear(resource, before)
    this.#record(operation, { failure, reason, kind, cause })
  }

  succeeded(resource: string): void {
    const failing = this.#failing.get(resource)
    if (failing === undefined || failing.cancel !== undefined) return
    const { clock } = this.#options
    const seconds = (clock.now() - failing.since) / 1000
    failing.cancel = clock.after(SETTLE_MS, () => this.#recover(resource, failing, seconds))
  }

  /** Why a resource fails at present; undefined if it does not. */
  present(resource: string): PresentFailure | undefined {
    return this.#failing.get(resource)
  }

  #recover(resource: string, failing: Failing, seconds: number): void {
    this.#failing.delete(resource)
    const recovered = this.#recovered.get(failing.kind) ?? { resources: [], seconds: 0 }
    recovered.resources.push(resource)
    recovered.seconds = Math.max(recovered.seconds, seconds)
    this.#recovered.set(failing.kind, recovered)
    this.#clear(resource, failing)
  }

  /** Records that the resource does not fail for this reason any more; the last resource of a kind ends the kind. */
  #clear(resource: string, { reason, kind }: Failing): void {
    const { log, server, metrics, fields } = this.#options
    metrics?.apiFailing.set({ resource, reason }, 0)
    const recovered = this.#recovered.get(kind)
    const isOngoing = [...this.#failing.values()].some((failing) => failing.kind === kind)
    if (isOngoing || recovered === undefined) return
    this.#recovered.delete(kind)
    const resources = recovered.resources.toSorted()
    const seconds = Math.round(recovered.seconds * 10) / 10
    const message = `requests to the API server for ${resources.join(', ')} succeed again after ${seconds} s`
    log.info({ ...fields, server, reason, resources, seconds }, message)
  }

  #record(
    operation: ApiOperation,
    { failure, reason, kind, cause }: FailureFacts & Pick<Failing, 'reason' | 'kind'>,
  ): void {
    const { verb, resource } = operation
    const { server, fields } = this.#options
    const common = { ...fields, server, reason }
    const { level, remedy } = factsOf(reason)
    this.#log.report(kind, {
      level,
      fields: { ...common, resource, verb, code: failure.errorCode, remedy },
      message: `cannot ${verb} ${resource}: ${cause}`,
      subject: resource,
      summary: (resources) => ({ ...common, resources }),
    })
  }
}

interface FailureFacts {
  readonly failure: ApiFailure
  readonly cause: string
}
