import type { Family } from '../lib/ip.ts'
import type { ServiceKey, ServicePort } from '../resources/types.ts'
import type { EntryId } from './entry.ts'

/** `namespace/name:port/protocol/family`; the port name is empty for an unnamed port. */
export function entryId(
  service: ServiceKey,
  port: Pick<ServicePort, 'name' | 'protocol'>,
  family: Family,
): EntryId {
  return `${service}:${port.name}/${port.protocol}/${family}` as EntryId
}
