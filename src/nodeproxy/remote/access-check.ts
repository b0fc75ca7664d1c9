import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import type { Reviewed, Reviews } from './access-reviews.ts'
import { type Caller, credentialsOf } from './access-reviews.ts'

/** How many milliseconds an answer of the API server is used; the values are those of kubelets. */
const TOKEN_MS = 120_000
const UNKNOWN_TOKEN_MS = 10_000
const ALLOWED_MS = 300_000
const DENIED_MS = 30_000

const LIMITS = { maxKept: 1_000, maxOpen: 8 }

/** Why a request is refused; `user`: who sent it, where that is known. */
export interface RefusedRequest {
  readonly status: 401 | 403 | 503
  readonly error: NodeProxyError
  readonly user: string | undefined
}

/** What `accessCheck` uses. */
interface AccessCheckParts {
  /** By which certificates are valid. */
  readonly clock: Pick<Clock, 'now'>
  /** By which answers are kept: no longer if the other clock is set back. */
  readonly steadyClock: Pick<Clock, 'now'>
  readonly nodeName: string
}

/** Checks whether a request may be answered. @returns why not; undefined: it may */
export type CheckAccess = (request: IncomingMessage) => Promise<RefusedRequest | undefined>

/**
 * Checks requests by the reviews of the API server. Answers are kept under hashes: no token stays in memory. Without
 * an answer the request is refused.
 */
export function accessCheck(
  reviews: Reviews,
  { clock, steadyClock, nodeName }: AccessCheckParts,
): CheckAccess {
  const limits = { clock: steadyClock, ...LIMITS }
  const tokens = new AnswerCache<Reviewed<Caller | undefined>>(limits)
  const accesses = new AnswerCache<Reviewed<boolean>>(limits)
  const callerOf = (request: IncomingMessage) => {
    const credentials = credentialsOf(request, clock.now())
    if (credentials === undefined) return Promise.resolve({ answer: undefined })
    if ('caller' in credentials) return Promise.resolve({ answer: credentials.caller })
    return tokens.get(hash('sha256', credentials.token, 'base64'), async () => {
      const value = await reviews.token(credentials.token)
      return { value, forMs: lifeOf(value, (caller) => (caller ? TOKEN_MS : UNKNOWN_TOKEN_MS)) }
    })
  }
  const mayRead = (caller: Caller) =>
    accesses.get(hash('sha256', JSON.stringify(caller), 'base64'), async () => {
      const value = await reviews.access(caller)
      return { value, forMs: lifeOf(value, (allowed) => (allowed ? ALLOWED_MS : DENIED_MS)) }
    })
  return async (request) => {
    const caller = await callerOf(request)
    if (caller === undefined || 'unavailable' in caller) return unavailable(caller?.unavailable)
    if (caller.answer === undefined) return unauthenticated()
    const { username: user } = caller.answer
    const allowed = await mayRead(caller.answer)
    if (allowed === undefined || 'unavailable' in allowed) {
      return unavailable(allowed?.unavailable, user)
    }
    return allowed.answer ? undefined : forbidden(user, nodeName)
  }
}

/** How long an answer is kept; 0 for a review without an answer. */
function lifeOf<T>(reviewed: Reviewed<T>, lifeMs: (answer: T) => number): number {
  return 'answer' in reviewed ? lifeMs(reviewed.answer) : 0
}

function unauthenticated(): RefusedRequest {
  const message = 'the request has no valid credentials'
  const hint =
    'send a bearer token that the API server accepts, or a client certificate of an authority of inspection.clientCAFile'
  return {
    status: 401,
    error: new NodeProxyError('NP_INSPECTION_UNAUTHORIZED', message, { hint }),
    user: undefined,
  }
}

function forbidden(user: string, nodeName: string): RefusedRequest {
  const message = `user ${quote(user)} may not get nodes/proxy of node ${quote(nodeName)}`
  const hint = 'bind a ClusterRole to the user with resource nodes/proxy and verb get'
  return {
    status: 403,
    error: new NodeProxyError('NP_INSPECTION_FORBIDDEN', message, { hint }),
    user,
  }
}

function unavailable(
  reason = 'too many other callers are being checked',
  user?: string,
): RefusedRequest {
  const message = `it cannot be checked now whether the request is allowed: ${reason}`
  const error = new NodeProxyError('NP_INSPECTION_UNCHECKED', message, {
    hint: 'try again once the API server answers node-proxy',
  })
  return { status: 503, error, user }
}

/** An answer, and how long it may be used. */
interface Kept<T> {
  readonly value: T
  /** In milliseconds; 0: only those use it who already wait for it. */
  readonly forMs: number
}

interface AnswerCacheOptions {
  readonly clock: Pick<Clock, 'now'>
  /** The most answers that are kept; the least recently used is dropped for a new one. */
  readonly maxKept: number
  /** The most questions that may be open at the same time. */
  readonly maxOpen: number
}

/** Keeps answers of another server by their questions, each for a limited time. */
class AnswerCache<T> {
  readonly #options: AnswerCacheOptions
  readonly #kept = new Map<string, { readonly value: T; readonly until: number }>()
  readonly #open = new Map<string, Promise<T>>()

  constructor(options: AnswerCacheOptions) {
    this.#options = options
  }

  /** The kept answer, or what `find` returns; undefined: too many other questions are open. */
  get(question: string, find: () => Promise<Kept<T>>): Promise<T> | undefined {
    const kept = this.#kept.get(question)
    this.#kept.delete(question)
    if (kept !== undefined && kept.until > this.#options.clock.now()) {
      this.#kept.set(question, kept)
      return Promise.resolve(kept.value)
    }
    const open = this.#open.get(question)
    if (open !== undefined || this.#open.size >= this.#options.maxOpen) return open
    const found = this.#keep(question, find).finally(() => this.#open.delete(question))
    this.#open.set(question, found)
    return found
  }

  async #keep(question: string, find: () => Promise<Kept<T>>): Promise<T> {
    const { value, forMs } = await find()
    if (forMs <= 0) return value
    this.#kept.set(question, { value, until: this.#options.clock.now() + forMs })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > this.#options.maxKept && oldest !== undefined) this.#kept.delete(oldest)
    return value
  }
}
