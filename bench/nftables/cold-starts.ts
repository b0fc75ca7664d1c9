import type { NftablesCellParts, NftablesDraft } from './cell-parts.ts'
import { countObjects } from './measure/objects.ts'
import type { Recorded } from './raw/recorded.ts'
import { type Replayed, ReplayPlace } from './raw/replay.ts'
import { emptyNode, type Running, startRunning } from './running.ts'

/**
 * Measures the raw sender and the daemon alternately, each on an empty kernel, so that other load affects both. The
 * last daemon keeps running.
 */
export async function coldStarts(
  parts: NftablesCellParts,
  measured: NftablesDraft,
  recorded: Recorded,
): Promise<Running> {
  const { repeats } = parts
  const raw: Replayed[] = []
  const samples: Running[] = []
  for (let n = 1; ; n++) {
    parts.log(`full sync ${n} of ${repeats.fullSync}`)
    const isLast = n === repeats.fullSync
    raw.push(await replay(parts, measured, { recorded, withChanges: isLast }))
    measured.rawFullSync = toReplay(raw, recorded)
    const running = await startRunning(parts, emptyNode(parts))
    samples.push(running)
    measured.fullSync = toFullSync(samples)
    if (isLast) return running
    await running.stop()
  }
}

/** Replays the full sync, followed by the changes in their recorded order. */
async function replay(
  { cluster, freshSerial }: NftablesCellParts,
  measured: NftablesDraft,
  { recorded, withChanges }: { readonly recorded: Recorded; readonly withChanges: boolean },
): Promise<Replayed> {
  const place = new ReplayPlace(freshSerial())
  try {
    const replayed = place.send(recorded.fullSync)
    if (withChanges) {
      measured.rawReplace = await place.sendEach(recorded.replacements)
      measured.rawBurst = await place.sendEach(recorded.bursts)
      measured.objects = await countObjects(place.name, cluster)
    }
    return replayed
  } finally {
    await place.remove()
  }
}

function toFullSync(samples: readonly Running[]): NonNullable<NftablesDraft['fullSync']> {
  return {
    fromStart: samples.map(({ fromStart }) => fromStart),
    fromListed: samples.map(({ fromListed }) => fromListed),
    cpuSeconds: samples.map((each) => each.cpuSeconds),
  }
}

function toReplay(
  replays: readonly Replayed[],
  { fullSync }: Recorded,
): NonNullable<NftablesDraft['rawFullSync']> {
  return {
    ms: replays.map(({ ms }) => ms),
    cpuSeconds: replays.map(({ cpuSeconds }) => cpuSeconds),
    transactions: fullSync.length,
    bytes: fullSync.reduce((sum, { bytes }) => sum + bytes.length, 0),
    longestMs: replays.map(({ longestMs }) => longestMs),
  }
}
