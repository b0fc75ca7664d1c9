import { isIPv6 } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { type Cidr, cidrContains, type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Responder } from './responder.ts'
import type { Statistics } from './statistics.ts'

/** What both transports of a server share. */
export interface ServerParts {
  readonly responder: Responder
  readonly networks: ClientNetworks
  readonly limit: AmplificationLimit
  readonly statistics: Statistics
  /** Receives an error in answering one message, which is a bug. */
  readonly onError: (error: unknown) => void
}

/** Where a server listens. */
export interface ListenAddress {
  readonly ip: IpAddress
  /** 0: any free one. */
  readonly port: number
}

const MAPPED = '::ffff:'
/** The maximum number of addresses that are remembered, allowed or not; a full table is emptied. */
const MAX_ADDRESSES = 16_384

/** The networks whose clients are answered. Other clients get a refusal that is no longer than their question. */
export class ClientNetworks {
  readonly #networks: readonly Cidr[]
  /** Whether an address is in one of the networks. */
  readonly #known = new Map<string, boolean>()
  readonly #onRefused: (address: string) => void

  /** `onRefused` is called for each message of a client of another network. */
  constructor(networks: readonly Cidr[], onRefused: (address: string) => void = () => undefined) {
    this.#networks = networks
    this.#onRefused = onRefused
  }

  /** Whether the address, as a socket reports it, is of one of the networks. */
  contain(address: string): boolean {
    const isInside = this.#known.get(address) ?? this.#look(address)
    if (!isInside) this.#onRefused(address)
    return isInside
  }

  #look(address: string): boolean {
    if (this.#known.size >= MAX_ADDRESSES) this.#known.clear()
    const ip = canonical(address)
    const isInside = ip !== undefined && this.#networks.some((network) => cidrContains(network, ip))
    this.#known.set(address, isInside)
    return isInside
  }
}

/** The address without the zone of a link-local one; for an IPv4 client of an IPv6 socket its IPv4 address. */
function canonical(address: string): IpAddress | undefined {
  const [bare = ''] = address.split('%')
  const isMapped = isIPv6(bare) && bare.startsWith(MAPPED) && bare.includes('.')
  return parseIp(isMapped ? bare.slice(MAPPED.length) : bare)
}

export interface AmplificationLimitOptions {
  readonly clock: Clock
  /** Bytes a second that a client address gets in datagrams longer than twice its questions. */
  readonly bytesPerSecond: number
}

const SECOND_MS = 1_000
/** A response that is at most this many times as long as its question is of no use to an attacker. */
const HARMLESS_FACTOR = 2
/** The number of addresses that are counted separately within a second; further ones share one count. */
const MAX_CLIENTS = 16_384

/**
 * Limits how much a forged source address can be flooded, by limiting long datagrams to each address. A client
 * above the limit gets truncated responses and repeats its questions over TCP, which proves its address.
 */
export class AmplificationLimit {
  readonly #options: AmplificationLimitOptions
  readonly #sent = new Map<string, number>()
  #second = 0

  constructor(options: AmplificationLimitOptions) {
    this.#options = options
  }

  /** Whether a datagram of `response` bytes may answer one of `question` bytes from `client`. */
  allows(client: string, question: number, response: number): boolean {
    if (response <= question * HARMLESS_FACTOR) return true
    const second = Math.floor(this.#options.clock.now() / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#sent.clear()
    }
    const key = this.#sent.size < MAX_CLIENTS || this.#sent.has(client) ? client : ''
    const sent = (this.#sent.get(key) ?? 0) + response
    this.#sent.set(key, sent)
    return sent <= this.#options.bytesPerSecond
  }
}
