import type { IncomingMessage } from 'node:http'
import type { Action } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import { type AuditRecord, RequestRecord } from './audit-record.ts'
import type { EventSource } from './event/audit-event.ts'
import { type RemoteEnd, sourceAddresses } from './event/source-addresses.ts'
import { isWithheld } from './event/withheld.ts'
import { type AuditPolicy, type Level, lowerLevel } from './policy/audit-policy.ts'
import { findRule } from './policy/find-rule.ts'
import type { AuditSink } from './sinks/audit-sink.ts'

export interface AuditLogOptions {
  readonly policy: AuditPolicy
  readonly sinks: readonly AuditSink[]
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
  /** Counts an event that was made. */
  readonly onEvent: (level: Level) => void
  /** Gets what can only be a bug; the request goes on. */
  readonly onError: (error: unknown) => void
}

/** A request as authentication leaves it. */
export interface AuditedRequest {
  readonly request: Pick<IncomingMessage, 'url' | 'headers'> & RemoteEnd
  /** What it is about to do; a path that is not served is an action with that path. */
  readonly action: Action
  /** The resource that its path names; undefined: none. */
  readonly served: ServedVersion | undefined
  /**
   * Who sends it, not who is impersonated: rules are for senders. Undefined: no credentials were
   * accepted.
   */
  readonly user: User | undefined
  /** As whom it acts, where the sender may impersonate that user. */
  readonly impersonated?: User | undefined
}

/**
 * Makes events of requests, as the policy requires, and passes each as one line to every sink.
 * No request waits for a sink.
 */
export class AuditLog {
  readonly #options: AuditLogOptions

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  /**
   * Begins the record of a request and makes its event `RequestReceived`. A request that no rule
   * matches costs the comparison with the rules alone.
   */
  begin(audited: AuditedRequest): AuditRecord {
    const { policy, clock, onError } = this.#options
    const { action, user, served } = audited
    const rule = findRule(policy, user, action)
    if (rule === undefined || rule.level === 'None') return NOT_AUDITED
    const level = isWithheld(action, served) ? lowerLevel(rule.level, 'Metadata') : rule.level
    const expected = {
      apiVersion: served ? apiVersionOf(served) : '',
      kind: served?.resource.kind ?? '',
    }
    const context = { now: () => clock.now(), write: this.#write, onError }
    return new RequestRecord(context, { source: this.#sourceOf(audited, level), rule, expected })
  }

  /** Delivers what waits, or counts it as dropped; resolves within the deadlines of the sinks. */
  async close(): Promise<void> {
    await Promise.all(this.#options.sinks.map((sink) => sink.close()))
  }

  #sourceOf(audited: AuditedRequest, level: Level): EventSource {
    const { clock, random } = this.#options
    const { request, action, served, user, impersonated } = audited
    return {
      auditId: random.uuid(),
      level,
      uri: request.url ?? '',
      action,
      version: served?.version ?? '',
      user,
      impersonated,
      sourceIPs: sourceAddresses(request),
      userAgent: request.headers['user-agent'] ?? '',
      receivedAt: clock.now(),
    }
  }

  readonly #write = (line: string, level: Level): void => {
    this.#options.onEvent(level)
    for (const sink of this.#options.sinks) sink.write(line)
  }
}

/** The record of a request that no rule matches. */
export const NOT_AUDITED: AuditRecord = {
  auditId: undefined,
  authorized: () => undefined,
  received: () => undefined,
  respond: (result) => result,
  panic: () => undefined,
}
