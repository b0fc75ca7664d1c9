import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ForwardingTable } from '../../../forwarding/table.ts'
import type { StatusResponseSchema } from '../../../inspection/generated/inspection_pb.ts'
import type { Mode } from '../../../modes/mode.ts'
import type { DeltaTracker } from '../../../sync/delta-tracker.ts'

/** Services, refusals or problems in a status; further ones are counted elsewhere. */
const MOST = 10

type Counts = Pick<
  MessageInitShape<typeof StatusResponseSchema>,
  'services' | 'entries' | 'backends' | 'biggest' | 'problems' | 'refusals'
>

/** What of a status comes from the table and the kernel. */
export function tableCounts(
  table: ForwardingTable,
  tracker: Pick<DeltaTracker, 'failures'>,
  mode: Pick<Mode, 'program'>,
): Counts {
  const sizes = new Map<string, number>()
  let entries = 0
  for (const { service, pools } of table.entries()) {
    entries++
    const backends = new Set([...pools.cluster, ...pools.local]).size
    sizes.set(service, (sizes.get(service) ?? 0) + backends)
  }
  const sorted = [...sizes].toSorted(([, a], [, b]) => b - a)
  return {
    ...{ entries, services: sizes.size },
    backends: sorted.reduce((sum, [, count]) => sum + count, 0),
    biggest: sorted.slice(0, MOST).map(([service, backends]) => ({ service, backends })),
    problems: table.problems().map(({ entry, code, message }) => ({ entry, code, message })),
    refusals: [...tracker.failures()].slice(0, MOST).map(([object, { refusal }]) => ({
      ...{ object, code: refusal.code, message: refusal.message },
      entries: [...mode.program.ownersOf(object)],
    })),
  }
}
