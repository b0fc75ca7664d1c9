import { commandRouting } from '../../../src/explain/host/command-routing.ts'
import { readHost } from '../../../src/explain/host/read-host.ts'
import type { CommandOutput, RunCommand } from '../../../src/explain/host/run-command.ts'
import type { Endpoint } from '../../../src/explain/packet/packet-state.ts'
import type { WalkOutcome } from '../../../src/explain/walk/walk-outcome.ts'
import { walkPacket } from '../../../src/explain/walk/walk-packet.ts'
import { readXtables } from '../../../src/explain/xtables/read-xtables.ts'
import { xtablesFunctions } from '../../../src/explain/xtables/xtables-functions.ts'
import { familyOf, type IpAddress } from '../../../src/lib/ip.ts'
import type { Transport } from '../agent/protocol.ts'
import type { Lab, LabHost } from '../lab/lab.ts'
import type { Namespace } from '../lab/namespace.ts'
import { BRIDGE } from '../lab/plan.ts'

/** A packet of the lab. */
export interface LabPacket {
  readonly from: LabHost
  readonly src: string
  readonly dst: string
  readonly port: number
  readonly protocol?: Transport
}

/** What the node's kernel will do with a packet, by what it holds now. Ports in `listening` are `ip:port`. */
export async function predict(
  lab: Lab,
  packet: LabPacket,
  listening: ReadonlySet<string> = new Set(),
): Promise<readonly WalkOutcome[]> {
  const run = commandsIn(lab.node.namespace)
  const listens = (_: Transport, { ip, port }: Endpoint) => listening.has(`${ip}:${port}`)
  const facts = await readHost(run, listens)
  const { listings, sets } = await readXtables(run)
  const functions = listings.flatMap((one) => xtablesFunctions(one, { facts, sets }))
  const { src, dst, port, protocol = 'TCP' } = packet
  return await walkPacket(
    { functions, routing: commandRouting(run), facts },
    {
      ...{
        family: familyOf(dst as IpAddress),
        protocol,
        src: src as IpAddress,
        srcPort: undefined,
      },
      ...{ dst: dst as IpAddress, dstPort: port, inInterface: interfaceOf(packet.from) },
    },
  )
}

/** Runs the commands of readers in a namespace. */
export function commandsIn(namespace: Namespace): RunCommand {
  return async (program, args) => {
    try {
      return { status: 0, stdout: await namespace.exec([program, ...args]), stderr: '' }
    } catch (error) {
      return failureOf(error)
    }
  }
}

function interfaceOf(from: LabHost): string | undefined {
  if (from === 'node') return undefined
  return from === 'pod' ? BRIDGE : 'eth0'
}

/** The lab's commands fail with `COMMAND: exit STATUS: OUTPUT`. */
function failureOf(error: unknown): CommandOutput {
  const [, status = '1', stderr = ''] = /: exit (\d+): ([\s\S]*)$/.exec(String(error)) ?? []
  return { status: Number(status), stdout: '', stderr }
}
