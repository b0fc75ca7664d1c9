import { vi } from 'vitest'
import { compareOutcomes, type Expectation } from '../../../src/explain/compare-outcomes.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { nodeCommand } from '../inspection/node-command.ts'
import type { Lab } from '../lab/lab.ts'
import { expectPrediction } from './expect-prediction.ts'
import { type LabPacket, predict } from './predict.ts'

/** What `node-proxy explain -o json` prints of the forwarding table. */
interface Desired {
  readonly entry: string
  readonly outcome: Expectation['outcome']
  readonly backends: readonly {
    readonly ip: IpAddress
    readonly port: number
    readonly weight: number
  }[]
  readonly masquerade: string
  readonly hasAffinity: boolean
  readonly ownPorts: readonly number[]
}

/** How long the daemon may take to repair what an earlier test altered. */
const REPAIR = { timeout: 90_000, interval: 100 }

/** What the running daemon wants to happen to a packet. Waits until the kernel does not differ from that. */
export async function readExpectation(lab: Lab, packet: LabPacket): Promise<Expectation> {
  await lab.site(packet.from, packet.src)
  return await vi.waitFor(() => readUnchanged(lab, packet), REPAIR)
}

async function readUnchanged(lab: Lab, packet: LabPacket): Promise<Expectation> {
  const { src, dst, port, protocol = 'TCP' } = packet
  const to = dst.includes(':') ? `[${dst}]:${port}` : `${dst}:${port}`
  const words = ['explain', src, to, '--protocol', protocol.toLowerCase(), '-o', 'json']
  const result = await nodeCommand(lab, ...words)
  if (result.stdout === '') throw new Error(result.stderr)
  const { desired, differences } = JSON.parse(result.stdout) as {
    readonly desired: Desired
    readonly differences: readonly string[]
  }
  if (differences.length > 0) throw new Error(`unchanged, and yet: ${differences.join('; ')}`)
  const { outcome, entry, backends, masquerade, hasAffinity, ownPorts } = desired
  return {
    isUnclaimed: entry === '',
    outcome,
    backends,
    hasAffinity,
    ownPorts: new Set(ownPorts),
    refusals: undefined,
    masquerade: masquerade === '' ? undefined : (masquerade as Expectation['masquerade']),
  }
}

/** What happens to a packet, and how that differs from the forwarding table. */
interface Observed {
  readonly observed: readonly WalkOutcome[]
  readonly differences: readonly string[]
}

/** The present differences. If no silence has to be awaited, real packets must also do as predicted. */
export async function differencesNow(
  lab: Lab,
  packet: LabPacket,
  { expected, sends }: { readonly expected: Expectation; readonly sends: boolean },
): Promise<Observed> {
  const seen = await predict(lab, packet)
  const isQuick = seen.length === 1 || seen.every(({ kind }) => kind === 'delivered')
  const isKnown = seen.every(({ kind }) => kind !== 'uncertain')
  const observed = sends && isQuick && isKnown ? await expectPrediction(lab, packet) : seen
  const compared = { ...packet, isOwnSource: packet.from === 'node' }
  return { observed, differences: compareOutcomes(compared, expected, observed) }
}
