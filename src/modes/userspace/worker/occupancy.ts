import { halfSipHash } from '../../../affinity/half-sip-hash.ts'
import type { Random } from '../../../lib/random.ts'
import type { RouteProtocol } from '../route.ts'

/** Session counters that all workers share; `Occupancy` reads and writes them. */
export type OccupancyMemory = SharedArrayBuffer

const AT = { TCP: 0, UDP: 1, key: 2, clients: 4 } as const
const CLIENT_BITS = 16
const CLIENTS = 1 << CLIENT_BITS

/** What a session is counted by; see `Session`. */
interface Occupant {
  readonly protocol: RouteProtocol
  readonly client: string
}

/** Counters at zero, with a random key for the hash of clients. */
export function createOccupancy(random: Pick<Random, 'below'>): OccupancyMemory {
  const memory = new SharedArrayBuffer((AT.clients + CLIENTS) * Int32Array.BYTES_PER_ELEMENT)
  const words = new Int32Array(memory)
  words[AT.key] = random.below(2 ** 32)
  words[AT.key + 1] = random.below(2 ** 32)
  return memory
}

/**
 * How many sessions all workers have together, by protocol and by client. Clients share 65,536 counters, so one
 * client's sessions may count for another client. No client can choose which one, and the limits are large compared
 * with this error.
 */
export class Occupancy {
  readonly #numbers: Int32Array
  readonly #key: readonly [number, number]
  readonly #words = new Int32Array(4)

  constructor(memory: OccupancyMemory) {
    this.#numbers = new Int32Array(memory)
    this.#key = [this.#numbers[AT.key] ?? 0, this.#numbers[AT.key + 1] ?? 0]
  }

  of(protocol: RouteProtocol): number {
    return Atomics.load(this.#numbers, AT[protocol])
  }

  ofClient(client: string): number {
    return Atomics.load(this.#numbers, this.#indexOf(client))
  }

  add({ protocol, client }: Occupant, amount: 1 | -1): void {
    Atomics.add(this.#numbers, AT[protocol], amount)
    Atomics.add(this.#numbers, this.#indexOf(client), amount)
  }

  #indexOf(client: string): number {
    const words = this.#words.fill(0)
    for (let at = 0; at < client.length; at++) {
      const word = (at >> 2) & 3
      words[word] = ((words[word] ?? 0) << 8) ^ client.charCodeAt(at)
    }
    return AT.clients + (halfSipHash(words, words.length, this.#key) & (CLIENTS - 1))
  }
}
