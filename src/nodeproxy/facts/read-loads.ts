import type { NodeFacts } from '../../doctor/evidence/node-facts.ts'
import type { InspectionClient } from '../../inspection/inspection-client.ts'
import { NodeProxyError } from '../../lib/error.ts'

/** Service ports whose connections are compared, those with the most first. */
const MAX_LOADS = 100

/** Connections of backends so far, by entry. */
export type Totals = ReadonlyMap<string, readonly BackendTotal[]>

interface BackendTotal {
  readonly ip: string
  readonly port: number
  readonly connections: number
  /** -1: not counted. */
  readonly connectionsNow: number
}

/** Service ports with several backends whose connections the mode counts. Empty when no node-proxy answers. */
export async function readTotals(client: Pick<InspectionClient, 'traffic'>): Promise<Totals> {
  const totals = new Map<string, BackendTotal[]>()
  try {
    for await (const { backends } of client.traffic('')) {
      for (const { entry, ip, port, traffic } of backends) {
        if (traffic?.connections === undefined) continue
        const now = traffic.connectionsNow === undefined ? -1 : Number(traffic.connectionsNow)
        const one = { ip, port, connections: Number(traffic.connections), connectionsNow: now }
        totals.getOrInsertComputed(entry, () => []).push(one)
      }
    }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
  }
  return totals
}

/** The connections between two reads, so that backends of different age can be compared. */
export function loadsBetween(
  before: Totals,
  after: Totals,
  affinitySeconds: ReadonlyMap<string, number>,
): NodeFacts['loads'] {
  const loads = [...after].flatMap(([entry, backends]) => {
    if (backends.length < 2) return []
    const known = new Map(before.get(entry)?.map((one) => [`${one.ip} ${one.port}`, one]))
    const grown = backends.map((one) => ({
      ...one,
      connections: Math.max(
        0,
        one.connections - (known.get(`${one.ip} ${one.port}`)?.connections ?? one.connections),
      ),
    }))
    const service = entry.split(':')[0] ?? ''
    return [{ entry, service, affinitySeconds: affinitySeconds.get(entry) ?? 0, backends: grown }]
  })
  return loads.toSorted((a, b) => sumOf(b) - sumOf(a)).slice(0, MAX_LOADS)
}

function sumOf({ backends }: NodeFacts['loads'][number]): number {
  return backends.reduce((sum, { connections }) => sum + connections, 0)
}
