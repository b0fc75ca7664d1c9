import type { ConnectOutcome } from '../agent/protocol.ts'
import type { Attempt, Lab, LabHost } from '../lab/lab.ts'

/** The connections to make, and from where. */
export interface Sending extends Attempt {
  readonly place: LabHost
}

/** Connects repeatedly until the work is done. @returns the result of the work, and the outcomes of the connections */
export async function whileSending<T>(
  lab: Lab,
  work: Promise<T>,
  { place, ...attempt }: Sending,
): Promise<readonly [T, ReadonlySet<ConnectOutcome['kind']>]> {
  let isDone = false
  void work.finally(() => (isDone = true)).catch(() => undefined)
  const kinds = new Set<ConnectOutcome['kind']>()
  while (!isDone) for (const { kind } of await lab.connect(place, attempt)) kinds.add(kind)
  return [await work, kinds]
}
