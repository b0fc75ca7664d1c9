import { compareOutcomes } from '../../../src/explain/compare-outcomes.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { openInspection } from '../../../src/inspection/inspection-client.ts'
import { NodeProxyError } from '../../../src/lib/error.ts'
import { expectationOf } from '../../../src/nodeproxy/commands/explain-command.ts'
import { inspectionSocket } from '../inspection/node-command.ts'
import type { Lab } from '../lab/lab.ts'
import { interfaceOf, type LabPacket } from './predict.ts'

/**
 * Where the forwarding table of the lab's daemon differs from the prediction for the kernel. If packets do as
 * predicted, an empty list means that the table also agrees with the packets.
 */
export async function desiredDifferences(
  lab: Lab,
  { from, src, dst, port, protocol = 'TCP' }: LabPacket,
  prediction: readonly WalkOutcome[],
): Promise<readonly string[]> {
  const client = openInspection(inspectionSocket(lab))
  try {
    const inInterface = interfaceOf(from) ?? ''
    const desired = await client.explain({ src, dst, port, protocol, inInterface })
    return compareOutcomes(
      { src, isOwnSource: from === 'node', dst, port },
      expectationOf(desired),
      prediction,
    )
  } catch (error) {
    if (isUnsaid(error)) return []
    throw error
  } finally {
    client.close()
  }
}

/**
 * Whether no forwarding table is known: the daemon has ended and only its rules remain, or it started while the API
 * server was unreachable.
 */
function isUnsaid(error: unknown): boolean {
  if (!(error instanceof NodeProxyError)) return false
  return /ENOENT|ECONNREFUSED|the cluster is not listed yet/.test(error.message)
}
