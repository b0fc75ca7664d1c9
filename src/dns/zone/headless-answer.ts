import type { ServiceKey } from '../../resources/types.ts'
import { addressRecord, addressType } from './address-names.ts'
import type { EndpointHost } from './endpoint-hosts.ts'
import { isPortQueried, type PortQuery } from './port-query.ts'
import { RECORD_TTL, type ZoneRecord } from './record.ts'
import { EMPTY, foundOrEmpty, MISSING, type ZoneAnswer } from './zone-answer.ts'

const FULL_WEIGHT = 100

/** A question about the name of a headless Service, or one below it. */
export interface HeadlessQuestion {
  readonly key: ServiceKey
  /** The name that was queried, and that of the Service. */
  readonly name: string
  readonly serviceName: string
  readonly type: string
}

/** The addresses of all endpoints, or of those with the label. The name exists only if there is such an endpoint. */
export function headlessAddresses(
  { key, name, type }: HeadlessQuestion,
  hosts: readonly EndpointHost[],
): ZoneAnswer {
  if (hosts.length === 0) return MISSING
  const queried = new Set(hosts.map(({ ip }) => ip).filter((ip) => addressType(ip) === type))
  return foundOrEmpty(
    [...queried].map((ip) => addressRecord(name, ip)),
    [],
    key,
  )
}

/**
 * One SRV record for each endpoint name and port that is queried for, of equal weight, with the addresses of
 * the targets. The name exists only if there is such a port.
 */
export function headlessTargets(
  { key, name, serviceName, type }: HeadlessQuestion,
  hosts: readonly EndpointHost[],
  queried: PortQuery,
): ZoneAnswer {
  const targets = new Map<string, { readonly port: number; readonly target: string }>()
  const addresses = new Map<string, ZoneRecord>()
  for (const { label, ip, ports } of hosts) {
    const target = `${label}.${serviceName}`
    for (const one of ports) {
      if (!isPortQueried(one, queried)) continue
      targets.set(`${one.port} ${target}`, { port: one.port, target })
      addresses.set(`${target} ${ip}`, addressRecord(target, ip))
    }
  }
  if (targets.size === 0) return hosts.length > 0 && name === serviceName ? EMPTY : MISSING
  const weight = Math.max(1, Math.floor(FULL_WEIGHT / targets.size))
  const records = [...targets.values()].map(
    (target): ZoneRecord => ({
      name,
      type: 'SRV',
      ttl: RECORD_TTL,
      data: { priority: 0, weight, ...target },
    }),
  )
  return type === 'SRV'
    ? foundOrEmpty(records, [...addresses.values()], key)
    : foundOrEmpty([], [], key)
}
