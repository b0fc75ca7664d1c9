import type { Clock } from '../../lib/clock.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Connection } from '../connection/connection.ts'
import type { CredentialKind, RenewableToken } from '../connection/credential/credential.ts'
import { checkToken } from '../connection/credential/token-file.ts'
import {
  lateFrom,
  tokenClaims,
  tokenValidity,
  type Validity,
} from '../connection/credential/validity.ts'
import type { ApiClient } from './api-client.ts'
import { createBackoff } from './backoff.ts'
import { causeOf } from './failure.ts'
import { requestToken, type TokenRequest } from './token-request.ts'

export interface CredentialRenewalOptions {
  readonly connection: Pick<Connection, 'credentials' | 'source'>
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Receives the present problems of the credentials whenever they change: one sentence for each, for an operator. */
  readonly onProblems: (problems: readonly string[]) => void
}

type RenewingClient = Pick<ApiClient, 'create'>

/** Milliseconds. */
const ROUND_MS = 60_000
const RETRY = { baseMs: 60_000, maxMs: 3_600_000 }
/**
 * A token is renewed after this share of its lifetime, or up to `SPREAD` later: nodes that got their tokens together
 * do not renew them together.
 */
const RENEWED_PART = 0.6
const SPREAD = 0.1
/** The shortest lifetime, in seconds, that API servers grant. */
const MIN_SECONDS = 600

/** When a token is to be renewed, and by which request. */
interface Plan {
  /** Epoch milliseconds. */
  readonly dueAt: number
  readonly request: TokenRequest
}

/**
 * Keeps a client authenticated: requests a new token of the ServiceAccount in its kubeconfig (TokenRequest, with the
 * same audiences and lifetime) in time, and reports each credential that should have been renewed by now, including
 * those that others renew.
 */
export class CredentialRenewal {
  readonly #options: CredentialRenewalOptions
  readonly #inUse = new Map<CredentialKind, Validity>()
  readonly #backoff
  /** The last seen token; `#plan`, `#failure` and `#unwritten` are about this token. */
  #token = ''
  #plan: Plan | undefined
  #retryAt = 0
  /** Why the token was not renewed. */
  #failure: string | undefined
  /** Why the renewed token is only in memory. */
  #unwritten: string | undefined
  #reported = ''
  #stop: () => void = () => undefined

  constructor(options: CredentialRenewalOptions) {
    this.#options = options
    this.#backoff = createBackoff({ random: options.random, ...RETRY })
  }

  /** Records what a client reports to its observer. */
  authenticated(kind: CredentialKind, validity: Validity | undefined): void {
    if (validity === undefined) this.#inUse.delete(kind)
    else this.#inUse.set(kind, validity)
  }

  /** The credentials in use that expire. */
  inUse(): ReadonlyMap<CredentialKind, Validity> {
    return this.#inUse
  }

  /** Renews and checks now, and every minute until `close`. */
  start(client: RenewingClient): void {
    const { clock, log } = this.#options
    const onError = (err: unknown): void =>
      log.warn({ err }, 'reviewing the credentials of the API server failed')
    void this.#round(client).catch(onError)
    this.#stop = regularly({
      clock,
      everyMs: ROUND_MS,
      onError,
      round: () => this.#round(client),
    })
  }

  close(): void {
    this.#stop()
  }

  async #round(client: RenewingClient): Promise<void> {
    const { renewable } = this.#options.connection.credentials
    if (renewable !== undefined) await this.#renew(client, renewable)
    this.#review()
  }

  async #renew(client: RenewingClient, renewable: RenewableToken): Promise<void> {
    const { clock, connection, log } = this.#options
    const plan = this.#planFor(renewable.present())
    const now = clock.now()
    if (plan === undefined || now < Math.max(plan.dueAt, this.#retryAt)) return
    const account = `${plan.request.namespace}/${plan.request.name}`
    const answer = await requestToken(client, plan.request)
    if (!answer.ok) {
      const why = `it cannot be renewed: ${causeOf(answer.failure)}${remedy(answer.failure.code, account)}`
      if (why !== this.#failure) log.warn({ account }, `the token of ${connection.source}: ${why}`)
      this.#failure = why
      this.#retryAt = now + this.#backoff.next()
      return
    }
    const { token, end } = answer.value
    const unwritten = await renewable.replace(checkToken(token, account))
    this.#planFor(renewable.present())
    this.authenticated('token', tokenValidity(renewable.present()))
    log.info({ account, until: end }, `the token of ${connection.source} was renewed`)
    this.#unwritten = unwritten
  }

  /** Undefined if the token is bound to more than a ServiceAccount, or does not expire. */
  #planFor(token: string): Plan | undefined {
    if (token === this.#token) return this.#plan
    this.#token = token
    this.#failure = undefined
    this.#unwritten = undefined
    this.#retryAt = 0
    this.#backoff.reset()
    const request = requestLike(token)
    const { from, to = 0 } = tokenValidity(token) ?? {}
    const part = RENEWED_PART + (SPREAD * this.#options.random.below(1_000)) / 1_000
    const isRenewable = request !== undefined && from !== undefined
    this.#plan = isRenewable ? { request, dueAt: from + part * (to - from) } : undefined
    return this.#plan
  }

  #review(): void {
    const now = this.#options.clock.now()
    const { source } = this.#options.connection
    const late = [...this.#inUse].filter(([kind, validity]) => now >= lateFrom(kind, validity))
    const problems = late.map(([kind, { to }]) => {
      const when = `${now < to ? 'expires' : 'expired'} at ${new Date(to).toISOString()}`
      const why = (kind === 'token' ? this.#failure : undefined) ?? REMEDIES[kind]
      return `the ${kind.replace('-', ' ')} of ${source} ${when}: ${why}`
    })
    if (this.#unwritten !== undefined) {
      problems.push(
        `the renewed token of ${source} could not be written there (${this.#unwritten}), so a restart begins with the old one: make the file and its folder writable, or write a new token there`,
      )
    }
    const text = problems.join('\n')
    if (text === this.#reported) return
    this.#reported = text
    this.#options.onProblems(problems)
  }
}

const REMEDIES: Readonly<Record<CredentialKind, string>> = {
  certificate: 'replace it; the file is read again without a restart',
  token: 'write a new one there; the file is read again without a restart',
  'token-file': 'repair what renews the file',
  exec: 'repair the credential plugin, or what it gets its credentials from',
}

/** What an operator does about an answer, after a semicolon. */
function remedy(status: number, account: string): string {
  if (status === 403) return `; grant create of serviceaccounts/token for ${account} (RBAC)`
  return status === 401 ? '; write a new token there' : ''
}

/**
 * The request for a token like this one; undefined if it is not a ServiceAccount's token, or is bound to another
 * object.
 */
function requestLike(token: string): TokenRequest | undefined {
  const claims = tokenClaims(token)
  const { sub, aud, iat, exp } = claims ?? {}
  const [, namespace, name] =
    /^system:serviceaccount:([^:]+):([^:]+)$/.exec(typeof sub === 'string' ? sub : '') ?? []
  const details = claims?.['kubernetes.io']
  const isBound = isJsonObject(details) && ['pod', 'secret', 'node'].some((kind) => kind in details)
  if (namespace === undefined || name === undefined || isBound) return undefined
  const audiences = [aud].flat().filter((one) => typeof one === 'string')
  const expirationSeconds = Math.max(MIN_SECONDS, Math.round(Number(exp) - Number(iat)))
  return { namespace, name, audiences, expirationSeconds }
}
