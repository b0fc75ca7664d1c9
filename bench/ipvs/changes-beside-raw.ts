import type { Repeats } from '../repeats.ts'
import type { Timed } from '../report/ipvs/results.ts'
import type { IpvsDraft } from './cell-parts.ts'
import type { IpvsContext } from './context.ts'
import { addServices, bursts, replaceEndpoints } from './measure/changes.ts'
import { openRawChanges, type RawChanges } from './measure/raw-changes.ts'

const BLOCKS = 4

interface Parts {
  readonly measured: IpvsDraft
  readonly repeats: Repeats
  readonly log: (what: string) => void
}

/**
 * Measures changes by the daemon and the same messages by the minimal sender, alternately in a few blocks, in the same
 * kernel, with the same number of virtual servers and the same other load.
 */
export async function measureChanges(context: IpvsContext, parts: Parts): Promise<void> {
  const { repeats, log } = parts
  const size = Math.min(repeats.burst, context.cluster.size)
  const raw = await openRawChanges(context.topology.node, size)
  try {
    log(`${repeats.replace} endpoints replaced`)
    await replacements(context, parts, raw)
    log(`${repeats.add} Services added`)
    parts.measured.rawAdd = await raw.times('add', repeats.add)
    parts.measured.add = await addServices(context, repeats.add)
    log(`bursts of ${size}`)
    parts.measured.rawBurst = await raw.bursts(repeats.bursts)
    parts.measured.burst = await bursts(context, size, repeats.bursts)
  } finally {
    await raw.close()
  }
}

async function replacements(
  context: IpvsContext,
  { measured, repeats }: Parts,
  raw: RawChanges,
): Promise<void> {
  const count = Math.ceil(repeats.replace / BLOCKS)
  const blocks: Timed[] = []
  for (let n = 0; n < BLOCKS; n++) {
    const rawTimes = await raw.times('replace', count)
    measured.rawReplace = [...(measured.rawReplace ?? []), ...rawTimes]
    blocks.push(await replaceEndpoints(context, { first: n * count, count }))
    measured.replace = joined(blocks)
  }
}

function joined(blocks: readonly Timed[]): Timed {
  return {
    fromSent: blocks.flatMap(({ fromSent }) => fromSent),
    fromAnswered: blocks.flatMap(({ fromAnswered }) => fromAnswered),
    cpuSecondsEach: blocks.reduce((sum, each) => sum + each.cpuSecondsEach, 0) / blocks.length,
  }
}
