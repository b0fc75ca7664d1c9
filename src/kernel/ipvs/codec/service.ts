import { findAttribute } from '../../netlink/attribute.ts'
import type { AttributeWriter } from '../../netlink/attribute-writer.ts'
import type { VirtualServer, VirtualServerId, VirtualServerSettings } from '../ipvs.ts'
import { decodeCounters } from './counters.ts'
import { CMD_ATTR } from './family.ts'
import { decodeServiceId, writeServiceId } from './service-id.ts'
import { decodeSettings, writeSettings } from './settings.ts'

/** linux/ip_vs.h: enum IPVS_SVC_ATTR_*. */
const STATS = 10
const STATS64 = 12

/** The nested attribute that names a virtual server or, with settings, describes it. */
export function writeService(
  writer: AttributeWriter,
  id: VirtualServerId,
  settings?: VirtualServerSettings,
): void {
  writer.nest(CMD_ATTR.service, (service) => {
    writeServiceId(service, id)
    if (settings !== undefined) writeSettings(service, id.family, settings)
  })
}

/** Undefined: not one that we can know, or damaged. */
export function decodeService(service: Buffer): VirtualServer | undefined {
  const id = decodeServiceId(service)
  const settings = id && decodeSettings(id.family, service)
  if (id === undefined || settings === undefined) return undefined
  const statistics = findAttribute(service, STATS64) ?? findAttribute(service, STATS)
  return { id, settings, counters: decodeCounters(statistics) }
}
