import { compareOutcomes } from '../../../src/explain/compare-outcomes.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { openInspection } from '../../../src/inspection/inspection-client.ts'
import { NodeProxyError } from '../../../src/lib/error.ts'
import { expectationOf } from '../../../src/nodeproxy/commands/explain-command.ts'
import { inspectionSocket } from '../inspection/node-command.ts'
import type { Lab } from '../lab/lab.ts'
import { interfaceOf, type LabPacket } from './predict.ts'

/**
 * Where the forwarding table of the lab's daemon says otherwise than the kernel of the prediction. With packets that do
 * as predicted, an empty list says the same of the table and of the packets.
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
 * Rules stay when their daemon has ended, and no process says what it wants; one that started while the API server is
 * away wants nothing yet.
 */
function isUnsaid(error: unknown): boolean {
  if (!(error instanceof NodeProxyError)) return false
  return /ENOENT|ECONNREFUSED|the cluster is not listed yet/.test(error.message)
}
