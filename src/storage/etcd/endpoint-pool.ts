import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  experimental,
} from '@grpc/grpc-js'
import type { NodeProxyError } from '../../lib/error.ts'
import { splitHostPort } from '../../lib/ip.ts'
import type { Random } from '../../lib/random.ts'
import type { Endpoint } from './endpoint.ts'
import { remedyOfTls, unreachable, wordsOf } from './failure.ts'
import { Maintenance } from './generated/etcd_pb.ts'
import type { RenewableTls } from './renewable-tls.ts'
import { unary } from './rpc.ts'

/** The TLS server name for an endpoint with an IP address, which cannot be a server name (RFC 6066 §3). */
const NAME_OF_ADDRESSES = 'etcd'

/** Milliseconds that one endpoint may take to connect before the next is tried, and to report its cluster. */
const CONNECT_MS = 2000
/** Milliseconds to wait after a round in which no endpoint could be used. */
const ROUND_MS = 100

const FOREIGN_CLUSTER = 'it belongs to another cluster than the endpoint that was reached first'

/** Pings show a watch, which only receives, that etcd is gone; etcd allows one ping every five seconds. */
const CHANNEL_OPTIONS = {
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.keepalive_time_ms': 6000,
  'grpc.keepalive_timeout_ms': 4000,
  'grpc.max_receive_message_length': -1,
}

/**
 * The endpoints of one etcd cluster, with one connection each. One endpoint is used until it fails. The pool connects
 * before anything is sent, so changing to another endpoint never repeats a request. Deadlines are milliseconds of
 * `performance.now()`.
 */
export class EndpointPool {
  readonly #addresses: readonly string[]
  readonly #clients: readonly Client[]
  /** Clients of endpoints that belong to `#cluster`. */
  readonly #members = new Set<Client>()
  /** What aborts the signals of `departure`. */
  readonly #departures = new Map<Client, AbortController>()
  /** Why each endpoint could not be used at the last attempt. */
  readonly #reasons = new Map<Client, unknown>()
  #cluster: bigint | undefined
  #current: number
  #closed = false

  /** Begins at a random endpoint, so that several servers do not all use the first. */
  constructor(endpoints: readonly Endpoint[], tls: RenewableTls, random: Random) {
    this.#addresses = endpoints.map(({ address }) => address)
    this.#clients = endpoints.map((endpoint) => clientOf(endpoint, tls))
    this.#current = random.below(endpoints.length)
  }

  /**
   * Connects to an endpoint, and returns its client.
   * @throws NP_STORAGE_ETCD_UNREACHABLE at `deadline`, or earlier if the pool is closed or TLS fails for every
   * endpoint, which is a lasting failure
   * @throws the reason of `signal` when it is aborted
   */
  async ready(deadline: number, signal?: AbortSignal): Promise<Client> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#closed) throw this.unreachable(new Error('the store was closed'))
      const client = await this.#round(deadline)
      if (client !== undefined) return client
      const reasons = this.#clients.map((one) => this.#reasons.get(one))
      const untrusted = reasons.filter((reason) => remedyOfTls(wordsOf(reason)) !== undefined)
      const isOver = performance.now() + ROUND_MS >= deadline
      if (isOver || untrusted.length === reasons.length) {
        throw this.unreachable(untrusted[0] ?? reasons[this.#current])
      }
      await delay(ROUND_MS)
    }
  }

  /** Uses the next endpoint from now on, if there is one and `client` is still in use. */
  leave(client: Client): void {
    if (this.#clients.length === 1 || this.#clients[this.#current] !== client) return
    this.#current = (this.#current + 1) % this.#clients.length
    this.#departures.get(client)?.abort()
    this.#departures.delete(client)
  }

  /** A signal that is aborted when the pool leaves `client`: its calls and streams should go on elsewhere. */
  departure(client: Client): AbortSignal {
    const known = this.#departures.get(client) ?? new AbortController()
    this.#departures.set(client, known)
    return known.signal
  }

  /** The error of a call that got no endpoint before its deadline; `cause` is the error of the last endpoint. */
  unreachable(cause: unknown): NodeProxyError {
    return unreachable(this.#addresses, cause)
  }

  close(): void {
    this.#closed = true
    for (const client of this.#clients) client.close()
  }

  async #round(deadline: number): Promise<Client | undefined> {
    for (const _ of this.#clients) {
      const client = this.#clients[this.#current]!
      const until = Math.min(deadline, performance.now() + CONNECT_MS)
      const fault = await this.#faultOf(client, until)
      if (fault === undefined) return client
      this.#reasons.set(client, fault)
      this.leave(client)
    }
    return undefined
  }

  /**
   * Why an endpoint cannot be used; undefined if it can. An endpoint must belong to the cluster that was reached first,
   * because another cluster has another history. A call reads the cluster. It is made even without a connection,
   * because gRPC reports why it cannot connect only as the error of a call.
   */
  async #faultOf(client: Client, until: number): Promise<unknown> {
    const isConnected = await connects(client, until)
    const isKnown = this.#clients.length === 1 || this.#members.has(client)
    if (isConnected && isKnown) return undefined
    const limits = { timeoutMs: isConnected ? CONNECT_MS : ROUND_MS }
    try {
      const { header } = await unary(client, Maintenance.method.status, {}, limits)
      const cluster = header?.clusterId
      this.#cluster ??= cluster
      const belongs = cluster !== undefined && cluster === this.#cluster
      if (!isKnown && !belongs) return new Error(FOREIGN_CLUSTER)
      this.#members.add(client)
      return undefined
    } catch (error) {
      return error
    }
  }
}

function clientOf(endpoint: Endpoint, tls: RenewableTls): Client {
  const security = channelSecurity(endpoint, tls)
  return new Client(endpoint.address, security.credentials, {
    ...CHANNEL_OPTIONS,
    ...security.options,
  })
}

async function connects(client: Client, deadline: number): Promise<boolean> {
  const channel = client.getChannel()
  for (;;) {
    const state = channel.getConnectivityState(true)
    if (state === connectivityState.READY) return true
    if (state === connectivityState.TRANSIENT_FAILURE) return false
    if (state === connectivityState.SHUTDOWN) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const until = Date.now() + deadline - performance.now()
    channel.watchConnectivityState(state, until, (error) => resolve(error === undefined))
    if (!(await promise)) return false
  }
}

/** Credentials and options of a channel to an endpoint. Each new connection uses the current certificates of `tls`. */
function channelSecurity(
  { address, secure }: Endpoint,
  tls: RenewableTls,
): { readonly credentials: ChannelCredentials; readonly options: ChannelOptions } {
  if (!secure) return { credentials: credentials.createInsecure(), options: {} }
  const { createCertificateProviderChannelCredentials: follow } = experimental
  const identity = tls.hasIdentity ? tls : null
  const host = splitHostPort(address)?.host ?? address
  if (isIP(host) === 0) return { credentials: follow(tls, identity), options: {} }
  // grpc-js would send the address as the server name, which Node refuses.
  const verify = (_name: string, peer: PeerCertificate) => checkServerIdentity(host, peer)
  return {
    credentials: follow(tls, identity, { checkServerIdentity: verify }),
    options: { 'grpc.ssl_target_name_override': NAME_OF_ADDRESSES },
  }
}
