import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column, wideColumn } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Type', 'How the Service is exposed.', (object) => stringAt(object, 'spec', 'type')),
  column('Cluster-IP', 'The virtual IP inside the cluster.', (object) =>
    orNone(stringAt(object, 'spec', 'clusterIP')),
  ),
  column('External-IP', 'Addresses that reach it from outside.', externalAddresses),
  column('Port(s)', 'Ports that it exposes.', ports),
  ageColumn,
  wideColumn('Selector', 'Labels of the pods behind it.', selector),
]

function orNone(text: string): string {
  return text === '' ? '<none>' : text
}

function externalAddresses(object: JsonObject): string {
  const type = stringAt(object, 'spec', 'type')
  if (type === 'ExternalName') return stringAt(object, 'spec', 'externalName')
  const ingress = arrayAt(object, 'status', 'loadBalancer', 'ingress').map(
    (one) => stringAt(one, 'ip') || stringAt(one, 'hostname'),
  )
  const external = arrayAt(object, 'spec', 'externalIPs').filter(isString)
  const all = [...(type === 'LoadBalancer' ? ingress : []), ...external]
  if (all.length > 0) return all.join(',')
  return type === 'LoadBalancer' ? '<pending>' : '<none>'
}

function ports(object: JsonObject): string {
  const texts = arrayAt(object, 'spec', 'ports').map((port) => {
    const nodePort = scalarText(valueAt(port, 'nodePort'))
    const node = nodePort === '' || nodePort === '0' ? '' : `:${nodePort}`
    return `${scalarText(valueAt(port, 'port'))}${node}/${stringAt(port, 'protocol') || 'TCP'}`
  })
  return orNone(texts.join(','))
}

function selector(object: JsonObject): string {
  const pairs = Object.entries(objectAt(object, 'spec', 'selector'))
  return orNone(pairs.map(([key, value]) => `${key}=${scalarText(value)}`).join(','))
}

function isString(value: Json): value is string {
  return typeof value === 'string'
}
