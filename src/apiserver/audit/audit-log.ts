import type { IncomingMessage } from 'node:http'
import { type Action, isPathAction, type ResourceAction } from '../../auth/action.ts'
import type { User } from '../../auth/user.ts'
import type { Clock } from '../../lib/clock.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Random } from '../../lib/random.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import type { EventSource } from './audit-event.ts'
import {
  type AuditPolicy,
  type AuditRule,
  type Level,
  lowerLevel,
  type ResourceSelector,
} from './audit-policy.ts'
import { type AuditRecord, isWithheld, RequestRecord } from './audit-record.ts'
import type { AuditSink } from './sinks/buffered-sink.ts'

const MAX_FORWARDED = 10
const MAPPED = /^::ffff:(?=\d+\.)/i

export interface AuditLogOptions {
  readonly policy: AuditPolicy
  readonly sinks: readonly AuditSink[]
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
  /** Called for each event that is made. */
  readonly onEvent: (level: Level) => void
  /** Receives errors that can only be bugs; the request continues. */
  readonly onError: (error: unknown) => void
}

/** A request after authentication. */
export interface AuditedRequest {
  readonly request: Pick<IncomingMessage, 'url' | 'headers'> & RemoteEnd
  /** The action of the request; for a path that is not served, an action with that path. */
  readonly action: Action
  /** The resource that its path names; undefined: none. */
  readonly served: ServedVersion | undefined
  /** The sender, not the impersonated user, because rules match senders. Undefined: no credentials were accepted. */
  readonly user: User | undefined
  /** The user that the request acts as, if the sender may impersonate it. */
  readonly impersonated?: User | undefined
}

/**
 * Makes the events of requests that the policy requires, and passes each as one line to every sink. No request
 * waits for a sink.
 */
export class AuditLog {
  readonly #options: AuditLogOptions

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  /**
   * Begins the record of a request and makes its event `RequestReceived`. A request that no rule matches costs
   * only the comparison with the rules.
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

  /** Delivers waiting events, or counts them as dropped; resolves within the deadlines of the sinks. */
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

/**
 * The source addresses of a request for `sourceIPs`: those that proxies wrote into X-Forwarded-For, then the
 * peer of the connection. A client can forge all of them except the last one.
 */
function sourceAddresses({
  headers,
  socket,
}: Pick<IncomingMessage, 'headers'> & RemoteEnd): readonly string[] {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .slice(-1024)
    .split(',')
    .flatMap((text) => addressOf(text.trim()) ?? [])
    .slice(-MAX_FORWARDED)
  const remote = addressOf(socket.remoteAddress ?? '')
  return remote === undefined || forwarded.at(-1) === remote ? forwarded : [...forwarded, remote]
}

/** The part of a connection that is used here. */
interface RemoteEnd {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

function addressOf(text: string): IpAddress | undefined {
  return parseIp(text.replace(MAPPED, ''))
}

/**
 * The first rule that matches what a user does; undefined: none does, and nothing is audited. A request without
 * a user matches no rule that names users or groups. The same as kube-apiserver's `audit/policy/checker.go`,
 * except that API groups with two names are compared by their canonical name.
 */
export function findRule(
  { rules }: AuditPolicy,
  user: User | undefined,
  action: Action,
): AuditRule | undefined {
  return rules.find((rule) => matchesUser(rule, user) && matchesAction(rule, action))
}

function matchesUser({ users, userGroups }: AuditRule, user: User | undefined): boolean {
  if (users !== undefined && (user === undefined || !users.has(user.name))) return false
  if (userGroups === undefined) return true
  return user !== undefined && user.groups.some((group) => userGroups.has(group))
}

function matchesAction(rule: AuditRule, action: Action): boolean {
  const { verbs, namespaces, resources, nonResourceURLs } = rule
  if (verbs !== undefined && !verbs.has(action.verb)) return false
  if (namespaces !== undefined || resources !== undefined) {
    return !isPathAction(action) && matchesResource(rule, action)
  }
  if (nonResourceURLs === undefined) return true
  if (!isPathAction(action)) return false
  return nonResourceURLs.some((pattern) => matchesPath(pattern, action.path))
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))
}

function matchesResource({ namespaces, resources }: AuditRule, action: ResourceAction): boolean {
  if (namespaces !== undefined && !namespaces.has(action.namespace)) return false
  return resources === undefined || resources.some((selector) => selects(selector, action))
}

function selects(selector: ResourceSelector, action: ResourceAction): boolean {
  const { group, resources, resourceNames } = selector
  if (group !== canonicalGroup(action.group)) return false
  if (resources.length === 0) return true
  if (resourceNames.size > 0 && !resourceNames.has(action.name)) return false
  return resources.some((pattern) => namesResource(pattern, action))
}

/**
 * Whether a pattern matches a resource. `pods` matches no subresources; `pods/*` matches all of them and the
 * Pods themselves.
 */
function namesResource(pattern: string, { resource, subresource }: ResourceAction): boolean {
  if (pattern === '*') return true
  if (pattern === (subresource === '' ? resource : `${resource}/${subresource}`)) return true
  return pattern === `*/${subresource}` || pattern === `${resource}/*`
}
