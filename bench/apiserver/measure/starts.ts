import type { IdleWatchers, Starts } from '../../report/apiserver/results.ts'
import { startBareServer } from '../server/bare.ts'
import type { MeasuredServer } from '../server/server.ts'
import type { Context } from './context.ts'

/** Measures starts of the server on the present store, and its memory afterwards. */
export async function starts({ server, repeats }: Context): Promise<Starts> {
  const readyMs: number[] = []
  const residentKib: number[] = []
  for (let start = 0; start < repeats.starts; start++) {
    readyMs.push(await server.restart())
    residentKib.push(await server.resident())
  }
  return { readyMs, residentKib }
}

/** Measures by how much memory grows with idle watches, on servers that have just been started. */
export async function idleWatchers(context: Context): Promise<IdleWatchers> {
  const { server, repeats } = context
  const kilobytesEach: number[] = []
  const bareKilobytesEach: number[] = []
  for (let start = 0; start < repeats.starts; start++) {
    await server.restart()
    kilobytesEach.push(await kilobytesOfEach(context, server))
    using bare = await startBareServer(server)
    bareKilobytesEach.push(await kilobytesOfEach(context, bare))
  }
  return { watchers: repeats.idleWatchers, kilobytesEach, bareKilobytesEach }
}

async function kilobytesOfEach(
  { load, repeats }: Context,
  { target, resident }: Pick<MeasuredServer, 'target' | 'resident'>,
): Promise<number> {
  const watchers = repeats.idleWatchers
  const before = await resident()
  await load.request({ what: 'hold', watchers, ...target })
  const grown = (await resident()) - before
  await load.request({ what: 'hold', watchers: 0, ...target })
  return (grown * 1.024) / watchers
}
