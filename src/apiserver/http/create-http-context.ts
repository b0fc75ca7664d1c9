import { connect } from 'node:net'
import {
  AccountAuthenticator,
  type AccountObjects,
} from '../../auth/authentication/account-authenticator.ts'
import { AuthenticatorChain } from '../../auth/authentication/authenticator.ts'
import { certificateAuthenticator } from '../../auth/authentication/certificate-authenticator.ts'
import { noTokenReviews, TokenReviewer } from '../../auth/authentication/token-reviewer.ts'
import { nodeAuthorizer } from '../../auth/node/node-authorizer.ts'
import type { NodePods } from '../../auth/node/node-permits.ts'
import {
  type Authorizer,
  permitEverything,
  permitMasters,
  rbacAuthorizer,
} from '../../auth/rbac/authorizer.ts'
import type { Policy } from '../../auth/rbac/policy.ts'
import { TOKEN_LIFETIMES, type TokenIssuance } from '../../auth/tokens/token-issuer.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import type { Store } from '../../storage/store.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { ALLOCATIONS } from '../allocation/allocation-keys.ts'
import { type AuditLog, NOT_AUDITED } from '../audit/audit-log.ts'
import {
  DEFAULT_ANONYMOUS_PATHS,
  type IdentityOptions,
} from '../authentication/identity-options.ts'
import type { OpenidProvider } from '../authentication/openid-documents.ts'
import {
  createIdentifier,
  everySenderIsMaster,
  type Identifier,
} from '../authentication/request-identity.ts'
import { type CacheReader, Feed, type Follower } from '../cache/feed.ts'
import { reportUnreadable } from '../cache/unreadable.ts'
import { defaultLimits, type Limits } from '../context/limits.ts'
import type { OperatorLog, ServerContext } from '../context/server-context.ts'
import { WatchRegistry } from '../context/watch-registry.ts'
import { WriteTurns } from '../context/write-turns.ts'
import { InFlightLimits } from '../flow-control/in-flight-limits.ts'
import { Lifecycle } from '../health/health-checks.ts'
import { storedResources } from '../kinds/catalogue.ts'
import type { Allocator } from '../resource/resource.ts'
import { refusalOf } from '../status/not-permitted.ts'

/**
 * The context of the verbs, with the parts that decide before a verb runs whether a request is served:
 * lifecycle, identity and concurrency limits.
 */
export interface HttpContext extends ServerContext {
  readonly audit: Pick<AuditLog, 'begin'>
  readonly identifier: Identifier
  /** The OpenID provider; undefined: the server has no keys for tokens. */
  readonly openid: OpenidProvider | undefined
  readonly inFlight: InFlightLimits
  readonly lifecycle: Lifecycle
}

/** A policy that is kept up to date with the roles and bindings in the store. */
export interface FollowedPolicy {
  readonly policy: Policy
  /** The followers of the store, by the first part of the keys that each follows. */
  readonly followers: Readonly<Record<string, Follower>>
}

/** Looks up the objects that tokens depend on in the caches. */
export interface AccountLookup {
  readonly accounts: (caches: CacheReader) => AccountObjects
  /** The Pods from which the permissions of node agents are derived. */
  readonly nodePods: (caches: CacheReader) => NodePods
}

export interface HttpContextOptions {
  readonly store: Store
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Default: the system's source of randomness. */
  readonly random?: Random
  /** Overrides of `defaultLimits`. */
  readonly limits?: Partial<Limits>
  /** The streams of the Pods of a node; absent: no node has any. */
  readonly nodeStreams?: ServerContext['nodeStreams']
  /** The credentials for requests to nodes; absent: no requests are sent to nodes. */
  readonly nodeCredentials?: ServerContext['nodeCredentials']
  /** How kubelets are reached; absent: they are not. */
  readonly kubelets?: ServerContext['kubelets']
  /** Opens a connection to a node. Default: over the network. */
  readonly connectNode?: ServerContext['connectNode']
  /** Absent: none is known. */
  readonly ownPorts?: ServerContext['ownPorts']
  /** The addresses of this server; connections to a Pod with such an address are refused. Absent: none is known. */
  readonly ownAddresses?: ServerContext['ownAddresses']
  /** The audit log; absent: requests are not audited. Close it after the server. */
  readonly audit?: Pick<AuditLog, 'begin'>
  /** Undefined: every request has the rights of an administrator, so only this machine may reach the server. */
  readonly identity: (IdentityOptions & AccountLookup) | undefined
  /** Called for each request that is accepted with the token of an account, with the id of the key that signed it. */
  readonly onAccountToken?: (keyId: string) => void
  /** The roles and bindings of the store. */
  readonly policy: FollowedPolicy
  readonly log: OperatorLog
  readonly conditions: Conditions
  /** Receives failures of the feed that fills the caches; the feed restarts. */
  readonly onError: (error: unknown) => void
}

/** The share of the request timeout for which a request may wait for a concurrency slot. */
const WAIT_SHARE = 1 / 4

/** An allocator whose pool learns from the feed which addresses and ports other replicas allocated. */
type FollowingAllocator = Allocator & { readonly pool: Follower }

/** The context of all requests of a server. Its caches are empty until the feed starts. */
export function createHttpContext<A extends FollowingAllocator>(
  options: HttpContextOptions,
  allocator: A,
): HttpContext & { readonly allocator: A } {
  const { store, log, conditions, clock = systemClock, random = systemRandom } = options
  const limits = { ...defaultLimits, ...options.limits }
  const { identity, policy } = options
  const base = { store, clock, random, limits, allocator, log, conditions }
  const feed = createFeed({ ...base, policy }, options.onError)
  const authorizer =
    identity === undefined
      ? permitEverything(policy.policy)
      : permitMasters(nodeAuthorizer(identity.nodePods({ feed }), rbacAuthorizer(policy.policy)))
  const shared = { ...base, authorizer }
  return {
    ...shared,
    feed,
    knowsUsers: identity !== undefined,
    audit: options.audit ?? { begin: () => NOT_AUDITED },
    ...createIdentity({ ...shared, feed, onAccepted: options.onAccountToken }, identity),
    watches: new WatchRegistry(limits.watches),
    streams: new WatchRegistry(limits.streams),
    nodeStreams: options.nodeStreams ?? (() => undefined),
    nodeCredentials: options.nodeCredentials ?? (() => undefined),
    kubelets: options.kubelets ?? { credentials: () => undefined, addressTypes: [] },
    connectNode: options.connectNode ?? ((host, port) => connect({ host, port })),
    ownAddresses: options.ownAddresses ?? (() => []),
    ownPorts: options.ownPorts ?? (() => []),
    turns: new WriteTurns(),
    lifecycle: new Lifecycle(),
    inFlight: new InFlightLimits({
      clock,
      inFlight: { readOnly: limits.requestsInFlight, mutating: limits.mutatingRequestsInFlight },
      waitMs: limits.requestTimeout * WAIT_SHARE,
    }),
  }
}

interface IdentifierParts extends CacheReader {
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly onAccepted: HttpContextOptions['onAccountToken']
}

type Identity = Pick<HttpContext, 'identifier' | 'tokens' | 'issuance' | 'openid'>

/** How the server authenticates users, and what it publishes for verifying its tokens. */
function createIdentity(
  { clock, authorizer, feed, onAccepted }: IdentifierParts,
  identity: (IdentityOptions & AccountLookup) | undefined,
): Identity {
  if (identity === undefined) {
    const identifier = everySenderIsMaster
    return { identifier, tokens: noTokenReviews, issuance: undefined, openid: undefined }
  }
  const { authenticators = [], anonymousPaths = DEFAULT_ANONYMOUS_PATHS } = identity
  const { onRejected = () => undefined } = identity
  const accounts = new AccountAuthenticator({
    ...identity,
    clock,
    objects: identity.accounts({ feed }),
    ...(onAccepted && { onAccepted }),
  })
  const identifier = createIdentifier({
    authenticator: new AuthenticatorChain([certificateAuthenticator, accounts, ...authenticators]),
    check: (user, action) => refusalOf(authorizer, user, action),
    clock,
    anonymousPaths,
    onRejected,
  })
  const { audiences } = identity
  const tokens = new TokenReviewer({ accounts, others: authenticators, audiences })
  return { identifier, tokens, issuance: issuanceOf(identity), openid: openidOf(identity) }
}

function issuanceOf({
  issuer,
  audiences,
  maxTokenLifetime = TOKEN_LIFETIMES.most,
}: IdentityOptions): TokenIssuance | undefined {
  return issuer && { issuer, audiences, maxLifetimeSeconds: maxTokenLifetime }
}

function openidOf({ issuers, jwksUri, keys }: IdentityOptions): OpenidProvider | undefined {
  const [issuer] = issuers
  if (issuer === undefined || !URL.canParse(issuer)) return undefined
  return { issuer, keys, jwksUri: jwksUri ?? new URL('/openid/v1/jwks', issuer).href }
}

interface FeedContext extends Pick<HttpContext, 'store' | 'clock' | 'limits' | 'conditions'> {
  readonly allocator: FollowingAllocator
  readonly policy: FollowedPolicy
}

function createFeed(
  { store, clock, limits, allocator, policy, conditions }: FeedContext,
  onError: (error: unknown) => void,
): Feed {
  return new Feed({
    ...limits,
    store,
    clock,
    resources: storedResources,
    followers: { ...policy.followers, [ALLOCATIONS]: allocator.pool },
    onError,
    onUnreadable: (all) => reportUnreadable(conditions, all),
  })
}
