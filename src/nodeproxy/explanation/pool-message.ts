import type { MessageInitShape } from '@bufbuild/protobuf'
import type { PoolExplanation } from '../../forwarding/explanation/explain-pool.ts'
import type { PoolExplanationSchema } from '../../inspection/generated/inspection_pb.ts'

/** Left-out endpoints of a message; the others are counted. */
const MAX_LEFT_OUT = 100

/** The explanation of a pool in the words of the inspection service. */
export function poolMessage({
  pool,
  zone,
  chosenBy,
  reasons,
  leftOut,
}: PoolExplanation): MessageInitShape<typeof PoolExplanationSchema> {
  return {
    ...{ name: pool, zone: zone ?? '', chosenBy, reasons: [...reasons] },
    leftOut: leftOut
      .slice(0, MAX_LEFT_OUT)
      .map(({ ip, port, nodeName, reason, text }) => ({ ip, port, node: nodeName, reason, text })),
    leftOutCount: leftOut.length,
  }
}
