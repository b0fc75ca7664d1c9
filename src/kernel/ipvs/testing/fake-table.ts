import { constants } from 'node:os'
import { familyOf, hostPort } from '../../../lib/ip.ts'
import {
  type IpvsCommand,
  type RealServer,
  type RealServerId,
  type TrafficCounters,
  type VirtualServerId,
  type VirtualServerSettings,
  virtualServerKey,
} from '../ipvs.ts'
import { isUnicast } from './fake-address.ts'

const { EEXIST, EINVAL, ENOENT, ERANGE, ESRCH } = constants.errno
const MAX_NAME_LENGTH = 15
const LARGEST_INT = 0x7fff_ffff

export const NO_TRAFFIC: TrafficCounters = {
  connections: 0,
  incomingPackets: 0,
  outgoingPackets: 0,
  incomingBytes: 0,
  outgoingBytes: 0,
}

export interface FakeService {
  readonly id: VirtualServerId
  settings: VirtualServerSettings
  counters: TrafficCounters
  /** By `ip:port`. */
  readonly servers: Map<string, RealServer>
}

/** The virtual servers of a kernel: takes commands and refuses what ip_vs refuses. */
export class FakeTable {
  readonly services = new Map<string, FakeService>()
  readonly #schedulers: ReadonlySet<string>

  constructor(schedulers: ReadonlySet<string>) {
    this.#schedulers = schedulers
  }

  /** Returns the errno, or 0 if the command took effect. */
  execute(command: IpvsCommand): number {
    if ('settings' in command && command.settings.scheduler.length > MAX_NAME_LENGTH) return EINVAL
    const service = this.services.get(virtualServerKey(command.id))
    switch (command.do) {
      case 'addService':
        return this.#addService(command.id, command.settings)
      case 'setService':
        return service === undefined ? ESRCH : this.#setService(service, command.settings)
      case 'deleteService':
        return this.services.delete(virtualServerKey(command.id)) ? 0 : ESRCH
      case 'addServer':
        return service === undefined ? ESRCH : addServer(service, command.server)
      case 'setServer':
        return service === undefined ? ESRCH : setServer(service, command.server)
      case 'deleteServer':
        return service === undefined ? ESRCH : deleteServer(service, command.server)
    }
  }

  #addService(id: VirtualServerId, settings: VirtualServerSettings): number {
    const key = virtualServerKey(id)
    const errno = this.services.has(key) ? EEXIST : this.#check(id, settings)
    if (errno === 0)
      this.services.set(key, { id, settings, counters: NO_TRAFFIC, servers: new Map() })
    return errno
  }

  #setService(service: FakeService, settings: VirtualServerSettings): number {
    const errno = this.#check(service.id, settings)
    if (errno === 0) service.settings = settings
    return errno
  }

  #check(id: VirtualServerId, { scheduler, persistence }: VirtualServerSettings): number {
    if (!this.#schedulers.has(scheduler)) return ENOENT
    const prefix = persistence?.prefix ?? 128
    return id.family === 6 && (prefix < 1 || prefix > 128) ? EINVAL : 0
  }
}

function addServer(service: FakeService, server: RealServer): number {
  const key = hostPort(server.ip, server.port)
  const errno = checkServer(service, server)
  if (errno !== 0) return errno
  if (service.servers.has(key)) return EEXIST
  if (!isUnicast(server.ip)) return EINVAL
  service.servers.set(key, server)
  return 0
}

function setServer(service: FakeService, server: RealServer): number {
  const key = hostPort(server.ip, server.port)
  const errno = checkServer(service, server)
  if (errno !== 0) return errno
  if (!service.servers.has(key)) return ENOENT
  service.servers.set(key, server)
  return 0
}

function deleteServer(service: FakeService, { ip, port }: RealServerId): number {
  return service.servers.delete(hostPort(ip, port)) ? 0 : ENOENT
}

/** Only a tunnel may lead to the other family. */
function checkServer({ id }: FakeService, server: RealServer): number {
  if (familyOf(server.ip) !== id.family && server.forwarding !== 'tunnel') return EINVAL
  if (server.weight > LARGEST_INT || server.lowerThreshold > server.upperThreshold) return ERANGE
  return 0
}
