import { commandRouting } from '../host/command-routing.ts'
import { readListening } from '../host/listening-sockets.ts'
import { readHost } from '../host/read-host.ts'
import { ipvsFunctions } from '../ipvs/ipvs-functions.ts'
import { readNftablesChains } from '../nftables/read-chains.ts'
import type { WalkWorld } from '../walk/walk-packet.ts'
import { readXtables } from '../xtables/read-xtables.ts'
import { xtablesFunctions } from '../xtables/xtables-functions.ts'
import type { WorldReaders } from './world-readers.ts'

/** Reads everything that decides about a packet once, but routes, which are queried. Throws NP_EXPLAIN_READ. */
export async function readWorld(readers: WorldReaders): Promise<WalkWorld> {
  const { run } = readers
  const facts = await readHost(run, await readListening(run))
  const { listings, sets } = await readXtables(run)
  const ipvs = await readers.readIpvs()
  const functions = [
    ...listings.flatMap((one) => xtablesFunctions(one, { facts, sets })),
    ...(ipvs === undefined ? [] : ipvsFunctions(ipvs)),
    ...(await readNftablesChains(run)),
  ]
  return { functions, routing: commandRouting(run), facts }
}
