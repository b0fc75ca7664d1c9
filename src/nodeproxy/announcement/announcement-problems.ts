import type { AddressPlan, AnnouncedService } from '../../announcement/eligible-nodes.ts'
import type { AddressConflict } from '../../kernel/neighbours/neighbour-responder.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'

/** How long a conflict counts after it was heard; a responder reports one once a minute. */
const CONFLICT_MS = 150_000
/** How long an address may be without an announcer before that counts, far longer than any take-over. */
const MISSING_MS = 10_000
/** The most addresses that a sentence names. */
const NAMED = 3
const PAGE = 'docs/operate/announcement.md'

/** Reasons of conditions. */
const REASONS = ['announcement-impaired', 'announcement-conflict', 'address-not-announced'] as const

type Reason = (typeof REASONS)[number]

/** What `AnnouncementProblems` uses. */
export interface AnnouncementProblemsParts {
  /** Milliseconds of the monotonic clock. */
  readonly monotonic: () => number
  readonly nodeName: string
  readonly services: ReadonlyMap<ServiceKey, AnnouncedService>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
}

/** The announcements as this node sees them. */
export interface SeenAnnouncements {
  /** Why this node cannot announce; undefined: it can. */
  readonly impairment: string | undefined
  readonly plans: ReadonlyMap<IpAddress, AddressPlan>
  /** Whether a node holds the Lease of an address for which this node contends. */
  readonly hasAnnouncer: (ip: IpAddress) => boolean
}

interface Conflict {
  readonly text: string
  readonly at: number
}

/** What keeps addresses from being announced, as conditions and sentences. */
export class AnnouncementProblems {
  readonly #parts: AnnouncementProblemsParts
  readonly #conflicts = new Map<IpAddress, Conflict>()
  readonly #missingSince = new Map<IpAddress, number>()

  constructor(parts: AnnouncementProblemsParts) {
    this.#parts = parts
  }

  addConflict(device: string, { ip, mac }: AddressConflict): void {
    const text = `${mac} at ${device} claims ${ip}, which this node announces`
    this.#conflicts.set(ip, { text, at: this.#parts.monotonic() })
  }

  /** Raises and clears the conditions; undefined: nothing is to be announced. */
  review(seen: SeenAnnouncements | undefined): void {
    const { conditions } = this.#parts
    const problems = seen === undefined ? new Map<Reason, string>() : this.find(seen)
    if (seen === undefined) {
      this.#conflicts.clear()
      this.#missingSince.clear()
    }
    for (const reason of REASONS) {
      const problem = problems.get(reason)
      if (problem === undefined) conditions.clear(reason)
      else conditions.raise(reason, { message: `${problem}; see ${PAGE}`, blocksReadiness: false })
    }
  }

  /** Sentences by the reason of their condition. */
  find(seen: SeenAnnouncements): ReadonlyMap<string, string> {
    const problems = new Map<Reason, string>()
    if (seen.impairment !== undefined) {
      const sentence = `announcing addresses does not work on this node: ${seen.impairment}`
      problems.set('announcement-impaired', sentence)
    }
    const now = this.#parts.monotonic()
    for (const [ip, { at }] of this.#conflicts) {
      if (at + CONFLICT_MS <= now) this.#conflicts.delete(ip)
    }
    if (this.#conflicts.size > 0) {
      const texts = [...this.#conflicts.values()].map(({ text }) => text)
      const sentence = `another host answers for an announced address: ${named(texts, '; ')}`
      problems.set('announcement-conflict', sentence)
    }
    const missing = this.#missing(seen)
    if (missing.length > 0) {
      problems.set('address-not-announced', `no node announces ${named(missing, ', ')}`)
    }
    return problems
  }

  /** The addresses that have been without an announcer for a while. */
  #missing(seen: SeenAnnouncements): readonly string[] {
    const now = this.#parts.monotonic()
    for (const ip of this.#missingSince.keys()) {
      if (!seen.plans.has(ip)) this.#missingSince.delete(ip)
    }
    return [...seen.plans.values()].flatMap((plan) => {
      if (!this.#isMissing(seen, plan)) {
        this.#missingSince.delete(plan.ip)
        return []
      }
      const since = this.#missingSince.getOrInsertComputed(plan.ip, () => now)
      if (since + MISSING_MS > now) return []
      const why = plan.nodes.length === 0 ? ': no node that could announce it may' : ''
      return `${plan.ip} of ${plan.services.join(' and ')}${why}`
    })
  }

  #isMissing({ hasAnnouncer }: SeenAnnouncements, { ip, nodes, services }: AddressPlan): boolean {
    if (nodes.length > 0) return nodes.includes(this.#parts.nodeName) && !hasAnnouncer(ip)
    // Without any endpoint a Service with policy Local is announced nowhere, as it should be.
    return services.some((key) => {
      const { service, endpoints = [] } = this.#parts.services.get(key) ?? {}
      if (service?.externalTrafficPolicy !== 'Local') return true
      return endpoints.some(({ groups }) => groups.some((one) => one.endpoints.length > 0))
    })
  }
}

function named(texts: readonly string[], separator: string): string {
  const more = texts.length > NAMED ? ` and ${texts.length - NAMED} more` : ''
  return texts.slice(0, NAMED).join(separator) + more
}
