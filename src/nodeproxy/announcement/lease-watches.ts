import type { SeenLease } from '../../announcement/election.ts'
import {
  acquiredAt,
  addressOfLease,
  leaseSelector,
  readLease,
} from '../../announcement/lease-object.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { LeaseClient } from './lease-client.ts'

/** The most addresses of one watch: their selector fits into a URL that every server takes. */
const MAX_ADDRESSES = 64

/** The Lease of an address as a watch reports it. */
export interface WatchedLease {
  readonly lease: SeenLease
  /** Since when its holder holds it, in milliseconds since the epoch; 0 if that is not known. */
  readonly acquiredAt: number
}

/** Leases of addresses, in the order in which they were reported; undefined: there is none. */
export type LeaseChanges = readonly (readonly [IpAddress, WatchedLease | undefined])[]

/** What `LeaseWatches` calls. */
export interface LeaseHandlers {
  readonly onLeases: (changes: LeaseChanges) => void
  /** All Leases of these addresses were listed. */
  readonly onListed: (leases: LeaseChanges) => void
}

interface Group {
  readonly ips: Set<IpAddress>
  readonly stop: AbortController
  readonly ended: Promise<unknown>
}

/** Follows the Leases of a set of addresses that changes, by few watches. */
export class LeaseWatches {
  readonly #leases: Pick<LeaseClient, 'follow'>
  readonly #handlers: LeaseHandlers
  readonly #ending = new Set<Promise<unknown>>()
  #groups: Group[] = []

  constructor(leases: Pick<LeaseClient, 'follow'>, handlers: LeaseHandlers) {
    this.#leases = leases
    this.#handlers = handlers
  }

  /** Replaces the addresses. Leases of a watch that goes on are not read again. */
  follow(ips: ReadonlySet<IpAddress>): void {
    const unwatched = new Set(ips)
    const kept: Group[] = []
    for (const group of this.#groups) {
      const wanted = [...group.ips].filter((ip) => ips.has(ip))
      if (wanted.length < group.ips.size) this.#end(group)
      else {
        kept.push(group)
        for (const ip of wanted) unwatched.delete(ip)
      }
    }
    this.#groups = kept
    // One watch follows the new addresses and those of a watch that has space for them, so that there are few.
    const joined = kept.find((group) => group.ips.size + unwatched.size <= MAX_ADDRESSES)
    if (unwatched.size > 0 && joined !== undefined) {
      this.#end(joined)
      this.#groups = kept.filter((group) => group !== joined)
      for (const ip of joined.ips) unwatched.add(ip)
    }
    const rest = [...unwatched]
    while (rest.length > 0) this.#begin(new Set(rest.splice(0, MAX_ADDRESSES)))
  }

  async close(): Promise<void> {
    for (const group of this.#groups.splice(0)) this.#end(group)
    await Promise.all(this.#ending)
  }

  #begin(ips: Set<IpAddress>): void {
    const { onLeases, onListed } = this.#handlers
    const stop = new AbortController()
    const known = new Map<IpAddress, WatchedLease>()
    const reflector = this.#leases.follow<WatchedLease>({
      selector: leaseSelector(ips),
      decode,
      onChanges(changes) {
        if (stop.signal.aborted) return
        const leases = changes.flatMap(({ key, value }) => {
          const ip = addressOfLease(key.slice(key.indexOf('/') + 1))
          return ip === undefined || !ips.has(ip) ? [] : [[ip, value] as const]
        })
        for (const [ip, lease] of leases) {
          if (lease === undefined) known.delete(ip)
          else known.set(ip, lease)
        }
        onLeases(leases)
      },
      onListed() {
        if (stop.signal.aborted) return
        onListed([...ips].map((ip) => [ip, known.get(ip)]))
      },
    })
    this.#groups.push({ ips, stop, ended: reflector.run(stop.signal) })
  }

  #end({ stop, ended }: Group): void {
    stop.abort()
    this.#ending.add(ended)
    void ended.finally(() => this.#ending.delete(ended))
  }
}

function decode(raw: unknown): WatchedLease | undefined {
  const lease = readLease(raw)
  return lease && { lease, acquiredAt: acquiredAt(raw) / 1_000 }
}
