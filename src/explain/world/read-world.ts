import { readListening } from '../host/listening-sockets.ts'
import { readHost } from '../host/read-host.ts'
import { ipvsFunctions } from '../ipvs/ipvs-functions.ts'
import { nftablesFunctions } from '../nftables/nftables-functions.ts'
import { type LiveTables, readLiveNftables, readNftables } from '../nftables/read-nftables.ts'
import { commandRouting } from '../routes/command-routing.ts'
import type { WalkWorld } from '../walk/walk-packet.ts'
import { readXtables } from '../xtables/read-xtables.ts'
import { xtablesFunctions } from '../xtables/xtables-functions.ts'
import type { WorldReaders } from './world-readers.ts'

/**
 * Reads everything that decides about a packet once, as much at the same time as the readers run; but routes, which are
 * queried, and where the readers can, elements of sets, which are looked up. Throws NP_EXPLAIN_READ.
 */
export async function readWorld(readers: WorldReaders): Promise<WalkWorld> {
  const { run } = readers
  const [facts, { listings, sets }, ipvs, { tables, readMissing }] = await Promise.all([
    readNode(run),
    readXtables(run),
    readers.readIpvs(),
    readTables(readers),
  ])
  const functions = [
    ...listings.flatMap((one) => xtablesFunctions(one, { facts, sets })),
    ...(ipvs === undefined ? [] : ipvsFunctions(ipvs, facts)),
    ...nftablesFunctions(tables, facts),
  ]
  return { functions, routing: commandRouting(run), facts, readMissing }
}

async function readNode(run: WorldReaders['run']) {
  return await readHost(run, await readListening(run))
}

async function readTables(readers: WorldReaders): Promise<LiveTables> {
  const { run, lookUpElement } = readers
  const names = await readers.nftTables?.()
  if (lookUpElement !== undefined) return await readLiveNftables(run, lookUpElement, names)
  return { tables: await readNftables(run, names), readMissing: async () => false }
}
