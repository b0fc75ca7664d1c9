import type {
  IpvsCommand,
  RealServer,
  VirtualServerId,
  VirtualServerSettings,
} from '../../src/kernel/ipvs/ipvs.ts'
import type { IpAddress } from '../../src/lib/ip.ts'
import { SERVICE_PORT, serviceAddress, TARGET_PORT, toText } from '../lab/plan.ts'

/** The settings that the daemon's defaults give a Service of this benchmark. */
const SETTINGS: VirtualServerSettings = { scheduler: 'rr', flags: [], persistence: undefined }

export function virtualServer(service: number): VirtualServerId {
  const ip = toText(serviceAddress(service)) as IpAddress
  return { family: 4, protocol: 'TCP', ip, port: SERVICE_PORT }
}

export function realServer(endpoint: number, weight = 1): RealServer {
  return {
    ip: toText(endpoint) as IpAddress,
    port: TARGET_PORT,
    weight,
    forwarding: 'masquerade',
    upperThreshold: 0,
    lowerThreshold: 0,
  }
}

/** A virtual server with its real servers, as the daemon makes it. */
export function addCommands(service: number, endpoints: readonly number[]): readonly IpvsCommand[] {
  const id = virtualServer(service)
  return [
    { do: 'addService', id, settings: SETTINGS },
    ...endpoints.map(
      (endpoint) => ({ do: 'addServer', id, server: realServer(endpoint) }) as const,
    ),
  ]
}

/** Commands that replace endpoints; the old ones drain. */
export function replaceCommands(
  service: number,
  change: { readonly fresh: readonly number[]; readonly gone: readonly number[] },
): readonly IpvsCommand[] {
  const id = virtualServer(service)
  return [
    ...change.fresh.map((each) => ({ do: 'addServer', id, server: realServer(each) }) as const),
    ...change.gone.map((each) => ({ do: 'setServer', id, server: realServer(each, 0) }) as const),
  ]
}

/** The input of `ipvsadm --restore` for the same virtual servers. */
export function restoreText(services: readonly (readonly number[])[]): string {
  return services
    .map((endpoints, service) => {
      const at = `${toText(serviceAddress(service))}:${SERVICE_PORT}`
      const servers = endpoints.map(
        (each) => `-a -t ${at} -r ${toText(each)}:${TARGET_PORT} -m -w 1\n`,
      )
      return `-A -t ${at} -s rr\n${servers.join('')}`
    })
    .join('')
}
