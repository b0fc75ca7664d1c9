import type { Driver } from '../../report/apiserver/results.ts'
import type { Load } from '../load/load.ts'
import type { Repeats } from '../repeats.ts'
import type { MeasuredServer } from '../server/server.ts'

/** What a measurement works with. */
export interface Context {
  readonly driver: Driver
  readonly server: MeasuredServer
  readonly load: Load
  readonly repeats: Repeats
  /** A folder on the disk that is measured. */
  readonly folder: string
}

/** The result of `work`, and the processor milliseconds that the server used meanwhile. */
export async function withCpu<T>(
  { server }: Context,
  work: () => Promise<T>,
): Promise<readonly [T, number]> {
  const before = server.cpuSeconds()
  const result = await work()
  return [result, (server.cpuSeconds() - before) * 1_000]
}
