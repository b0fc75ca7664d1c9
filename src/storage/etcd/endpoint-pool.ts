import { setTimeout as delay } from 'node:timers/promises'
import { Client, connectivityState } from '@grpc/grpc-js'
import type { NodeProxyError } from '../../lib/error.ts'
import type { Endpoint } from './endpoint.ts'
import { unreachable } from './failure.ts'
import { Maintenance } from './generated/etcd_pb.ts'
import { unary } from './rpc.ts'
import { channelSecurity, type EtcdTls } from './secure-channel.ts'

/** How long one endpoint may take to connect while there are others. */
const CONNECT_MS = 2000
/** Between two rounds in which no endpoint could be connected. */
const ROUND_MS = 100

const CHANNEL_OPTIONS = {
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
  'grpc.max_receive_message_length': -1,
}

/**
 * One connection per endpoint, of which one is used until it fails. Whether an
 * endpoint can be reached is found out before anything is sent to it, so moving
 * to another one never repeats a request.
 */
export class EndpointPool {
  readonly #addresses: readonly string[]
  readonly #clients: readonly Client[]
  #current = 0
  #closed = false

  constructor(endpoints: readonly Endpoint[], tls: EtcdTls = {}) {
    this.#addresses = endpoints.map(({ address }) => address)
    this.#clients = endpoints.map((endpoint) => clientOf(endpoint, tls))
  }

  /** A connected endpoint, or `NP_STORAGE_ETCD_UNREACHABLE` at `deadline` (ms since the epoch). */
  async ready(deadline: number, signal?: AbortSignal): Promise<Client> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.#closed) throw this.unreachable(new Error('the store was closed'))
      const client = await this.#round(deadline)
      if (client !== undefined) return client
      if (Date.now() + ROUND_MS >= deadline) throw this.unreachable(await this.#reason())
      await delay(ROUND_MS)
    }
  }

  /** Uses another endpoint from now on, if `client` is still the one in use. */
  leave(client: Client): void {
    if (this.#clients[this.#current] === client) this.#advance()
  }

  /** The error of whoever found no endpoint in time; `cause` is what the last one said. */
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
      if (await connects(client, Math.min(deadline, Date.now() + CONNECT_MS))) return client
      this.leave(client)
    }
    return undefined
  }

  /** Only a call tells why there is no connection; it fails at once. */
  async #reason(): Promise<unknown> {
    const deadline = Date.now() + ROUND_MS
    const client = this.#clients[this.#current]!
    return unary(client, Maintenance.method.status, {}, deadline).catch((error: unknown) => error)
  }

  #advance(): void {
    this.#current = (this.#current + 1) % this.#clients.length
  }
}

function clientOf(endpoint: Endpoint, tls: EtcdTls): Client {
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
    channel.watchConnectivityState(state, deadline, (error) => resolve(error === undefined))
    if (!(await promise)) return false
  }
}
