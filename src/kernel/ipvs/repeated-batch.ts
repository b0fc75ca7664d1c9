import { isDeepEqual } from '../../lib/equal.ts'
import { hostPort } from '../../lib/ip.ts'
import { type Ipvs, type IpvsCommand, type RealServer, virtualServerKey } from './ipvs.ts'

type Reader = Pick<Ipvs, 'service' | 'servers'>

/**
 * Whether a refused command of a batch that was sent twice, because answers were lost, has taken effect: its
 * refusal may only mean that the first attempt added (EEXIST) or deleted (ESRCH, ENOENT) the object. Reads the
 * object from the kernel and compares it with the result of the whole batch.
 */
export async function hasTakenEffect(
  kernel: Reader,
  batch: readonly IpvsCommand[],
  index: number,
): Promise<boolean> {
  const command = batch[index]!
  const last = batch.findLast((other) => decides(other, command))!
  if (!('server' in command)) {
    const actual = (await kernel.service(command.id))?.settings
    return 'settings' in last ? isDeepEqual(actual, last.settings) : actual === undefined
  }
  const servers = (await kernel.servers(command.id)) ?? []
  const actual = servers.find((server) => addressOf(server) === addressOf(command.server))
  if (!('server' in last) || last.do === 'deleteServer') return actual === undefined
  return actual !== undefined && isDeepEqual(configured(actual), configured(last.server))
}

/** Whether `other` acts on what `command` acts on: the object itself or the service above it. */
function decides(other: IpvsCommand, command: IpvsCommand): boolean {
  if (virtualServerKey(other.id) !== virtualServerKey(command.id)) return false
  if (!('server' in other)) return !('server' in command) || other.do === 'deleteService'
  return 'server' in command && addressOf(other.server) === addressOf(command.server)
}

function addressOf({ ip, port }: Pick<RealServer, 'ip' | 'port'>): string {
  return hostPort(ip, port)
}

function configured(server: RealServer): RealServer {
  const { ip, port, weight, forwarding, upperThreshold, lowerThreshold } = server
  return { ip, port, weight, forwarding, upperThreshold, lowerThreshold }
}
