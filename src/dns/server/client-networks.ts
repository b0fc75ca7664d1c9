import { isIPv6 } from 'node:net'
import { type Cidr, cidrContains, type IpAddress, parseIp } from '../../lib/ip.ts'

const MAPPED = '::ffff:'
/** The maximum number of remembered answers; a full table is emptied. */
const MAX_ANSWERS = 16_384

/** The networks whose clients are answered. Other clients get a refusal that is no longer than their question. */
export class ClientNetworks {
  readonly #networks: readonly Cidr[]
  readonly #answers = new Map<string, boolean>()

  readonly #onRefused: (address: string) => void

  /** `onRefused` is called for each message of a client of another network. */
  constructor(networks: readonly Cidr[], onRefused: (address: string) => void = () => undefined) {
    this.#networks = networks
    this.#onRefused = onRefused
  }

  /** Whether the address, as a socket reports it, is of one of the networks. */
  contain(address: string): boolean {
    const isInside = this.#answers.get(address) ?? this.#look(address)
    if (!isInside) this.#onRefused(address)
    return isInside
  }

  #look(address: string): boolean {
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear()
    const ip = canonical(address)
    const isInside = ip !== undefined && this.#networks.some((network) => cidrContains(network, ip))
    this.#answers.set(address, isInside)
    return isInside
  }
}

/** The address without the zone of a link-local one; for an IPv4 client of an IPv6 socket its IPv4 address. */
function canonical(address: string): IpAddress | undefined {
  const [bare = ''] = address.split('%')
  const isMapped = isIPv6(bare) && bare.startsWith(MAPPED) && bare.includes('.')
  return parseIp(isMapped ? bare.slice(MAPPED.length) : bare)
}
