import { hostPort } from '../../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import { parseLegacyIp } from '../../../lib/legacy-address.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

/** How many addresses a table cell names before it only counts. */
const SHOWN = 3

export const columns: readonly Column[] = [
  nameColumn,
  column('Endpoints', 'Addresses and ports that are ready.', readyAddresses),
  ageColumn,
]

function readyAddresses(object: JsonObject): string {
  const texts = arrayAt(object, 'subsets').flatMap((subset) => {
    const ips = arrayAt(subset, 'addresses').map((address) => stringAt(address, 'ip'))
    const ports = arrayAt(subset, 'ports').map((port) => Number(valueAt(port, 'port')))
    if (ports.length === 0) return ips
    return ports.flatMap((port) => ips.map((ip) => endpointText(ip, port)))
  })
  if (texts.length === 0) return '<none>'
  const more = texts.length - SHOWN
  return more > 0 ? `${texts.slice(0, SHOWN).join(',')} + ${more} more...` : texts.join(',')
}

function endpointText(ip: string, port: number): string {
  const parsed = parseLegacyIp(ip)
  return parsed === undefined ? `${ip}:${port}` : hostPort(parsed, port)
}
