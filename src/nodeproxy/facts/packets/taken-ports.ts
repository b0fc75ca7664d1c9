import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { RunCommand } from '../../../explain/host/run-command.ts'
import { processAtSocket, readListeners } from '../kernel/read-listeners.ts'

/** What is compared. */
export interface PortOwners {
  readonly run: RunCommand
  /** The inspection socket, by which the process of node-proxy is recognised. */
  readonly socket: string
  /** Ids of entries by `TCP/30080`. */
  readonly owners: ReadonlyMap<string, string>
}

const MAX = 200

/** Sockets at node ports that are not node-proxy's own. Those whose process cannot be seen are left out. */
export async function readTakenPorts({
  run,
  socket,
  owners,
}: PortOwners): Promise<NodeFacts['takenPorts']> {
  if (owners.size === 0) return []
  const own = await processAtSocket(run, socket)
  if (own === 0) return []
  const listeners = await readListeners(run)
  return listeners
    .flatMap((one) => {
      const entry = owners.get(`${one.protocol}/${one.port}`)
      return entry === undefined || one.pid === 0 || one.pid === own ? [] : [{ ...one, entry }]
    })
    .slice(0, MAX)
}
