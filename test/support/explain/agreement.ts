import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { hostPort, type IpAddress } from '../../../src/lib/ip.ts'
import type { ConnectOutcome } from '../agent/protocol.ts'
import { proxyMode } from '../lab/daemon-config.ts'
import { happened, predicted } from './compare.ts'

/** Modes with sockets of their own; ipvs has them for node ports on loopback addresses. */
const FORWARDING_MODES = new Set(['userspace', 'ipvs'])

/** Connections to one destination, and the outcomes that were predicted for them. */
export interface Predicted {
  readonly prediction: readonly WalkOutcome[]
  readonly dst: string
  readonly port: number
  /** Whether there were enough connections for each predicted outcome to have happened. */
  readonly isExhaustive: boolean
}

/** How the connections differed from the prediction; empty if they agree. */
export function disagreements(
  { prediction, dst, port, isExhaustive }: Predicted,
  outcomes: readonly ConnectOutcome[],
): readonly string[] {
  const expected = new Set(prediction.map(predicted))
  const real = new Set(
    outcomes.map((one) => shown(happened(one, hostPort(dst as IpAddress, port)), prediction)),
  )
  const surprises = [...real].filter((one) => !expected.has(one))
  const absent = isExhaustive ? [...expected].filter((one) => !real.has(one)) : []
  const list = [...expected].join(', ')
  return [
    ...surprises.map((one) => `explain predicted [${list}]: ${one}`),
    ...absent.map((one) => `explain predicted [${list}], but never: ${one}`),
  ]
}

/** A line as explain predicts it: the kernel's path ends at a socket of the daemon, which then chooses the backend. */
function shown(line: string, prediction: readonly WalkOutcome[]): string {
  const [first] = prediction
  const isForwarded = FORWARDING_MODES.has(proxyMode()) && line.includes(' from ')
  if (!isForwarded || first?.kind !== 'delivered' || first.to !== 'local') return line
  return predicted(first)
}
