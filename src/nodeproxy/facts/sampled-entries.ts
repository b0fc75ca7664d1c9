import type { Backend, Entry, Frontend } from '../../inspection/generated/inspection_pb.ts'

/** The most entries of each kind to which packets are followed. */
const MAX_EACH = 3
/** The most entries whose packets node-proxy drops or refuses because of the Service's own fields. */
const MAX_REFUSING = 10
/** The most backends of an entry, because packets are followed to each of them. */
const MAX_BACKENDS = 100
const MAX_LOCAL_BACKENDS = 500

/** A frontend with its entry. */
export interface SampledFrontend {
  readonly entry: Entry
  readonly frontend: Frontend
}

/** A backend on this node with the first entry that has it. */
export interface LocalBackend {
  readonly entry: Entry
  readonly backend: Backend
}

/** A sample of many entries, which are taken one by one, so that ten thousand Services need little memory. */
export class SampledEntries {
  readonly clusterIps: SampledFrontend[] = []
  readonly nodePorts: SampledFrontend[] = []
  readonly external: SampledFrontend[] = []
  /** Frontends of policy Local that have backends, but none on this node. */
  readonly withoutLocal: SampledFrontend[] = []
  /** Frontends with loadBalancerSourceRanges. */
  readonly withRanges: SampledFrontend[] = []
  /** Ids of entries by `TCP/30080`. */
  readonly nodePortOwners = new Map<string, string>()
  /** The affinity timeout of entries that have one, by id. */
  readonly affinitySeconds = new Map<string, number>()
  /** By `TCP 10.0.0.1 80`. */
  readonly localBackends = new Map<string, LocalBackend>()

  take(entry: Entry): void {
    if (entry.affinitySeconds > 0) this.affinitySeconds.set(entry.id, entry.affinitySeconds)
    for (const frontend of entry.frontends) this.#takeFrontend({ entry, frontend })
    for (const backend of entry.backends) {
      if (!backend.isLocal || this.localBackends.size >= MAX_LOCAL_BACKENDS) continue
      const key = `${entry.protocol} ${backend.ip} ${backend.port}`
      this.localBackends.getOrInsert(key, { entry, backend })
    }
  }

  #takeFrontend(one: SampledFrontend): void {
    const { entry, frontend } = one
    const { kind, admitsAll } = frontend
    if (kind === 'nodePort') this.nodePortOwners.set(`${entry.protocol}/${frontend.port}`, entry.id)
    if (!admitsAll && this.withRanges.length < MAX_REFUSING) this.withRanges.push(one)
    if (isWithoutLocal(one) && this.withoutLocal.length < MAX_REFUSING) this.withoutLocal.push(one)
    if (!serves(one) || entry.backends.length > MAX_BACKENDS) return
    if (kind === 'clusterIP') keepBest(this.clusterIps, one)
    else if (kind === 'nodePort') keepBest(this.nodePorts, one)
    else keepBest(this.external, one)
  }
}

function serves({ entry, frontend }: SampledFrontend): boolean {
  return entry.backends.some((one) =>
    frontend.pool === 'local' ? one.inLocalPool : one.inClusterPool,
  )
}

function isWithoutLocal({ entry, frontend }: SampledFrontend): boolean {
  if (frontend.pool !== 'local' || frontend.kind === 'clusterIP') return false
  return !entry.backends.some((one) => one.inLocalPool) && entry.backends.length > 0
}

/** Best: backends here and elsewhere, and few of them. */
function keepBest(kept: SampledFrontend[], one: SampledFrontend): void {
  kept.push(one)
  kept.sort((a, b) => worth(b) - worth(a) || a.entry.backends.length - b.entry.backends.length)
  if (kept.length > MAX_EACH) kept.pop()
}

function worth({ entry }: SampledFrontend): number {
  return new Set(entry.backends.map((one) => one.isLocal)).size
}
