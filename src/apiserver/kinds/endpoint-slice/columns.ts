import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

const SHOWN = 3

export const columns: readonly Column[] = [
  nameColumn,
  column('AddressType', 'IPv4, IPv6 or FQDN.', (object) => stringAt(object, 'addressType')),
  column('Ports', 'Ports of every endpoint.', portList),
  column('Endpoints', 'Addresses of the endpoints.', addressList),
  ageColumn,
]

function portList(object: JsonObject): string {
  const ports = arrayAt(object, 'ports').filter(isJsonObject)
  if (ports.length === 0) return '<unset>'
  return shorten(ports.map((port) => scalarText(valueAt(port, 'port')) || '*'))
}

function addressList(object: JsonObject): string {
  const addresses = arrayAt(object, 'endpoints').flatMap((one) => arrayAt(one, 'addresses'))
  return addresses.length === 0 ? '<unset>' : shorten(addresses.map(scalarText))
}

function shorten(texts: readonly string[]): string {
  const more = texts.length - SHOWN
  return more > 0 ? `${texts.slice(0, SHOWN).join(',')} + ${more} more...` : texts.join(',')
}
