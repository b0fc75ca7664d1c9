import { NodeProxyError } from '../../lib/error.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'

/**
 * The port of a Pod that a text means. For a Service: one of its ports by number or name. Otherwise: a port of the
 * Pod's containers by name, or any number.
 * @throws NP_ORCHCTL_NO_PORT
 */
export function remotePort(text: string, owner: JsonObject, pod: JsonObject): number {
  if (stringAt(owner, 'kind') !== 'Service') return podPort(text, pod)
  const ports = arrayAt(owner, 'spec', 'ports')
  const port = ports.find(
    (one) => scalarText(valueAt(one, 'port')) === text || stringAt(one, 'name') === text,
  )
  if (port === undefined) {
    throw noPort(
      `service/${nameOf(owner)}`,
      text,
      ports.map((one) => portText(one, 'port')),
    )
  }
  const target = scalarText(valueAt(port, 'targetPort'))
  return podPort(target === '' ? scalarText(valueAt(port, 'port')) : target, pod)
}

function podPort(text: string, pod: JsonObject): number {
  if (/^\d+$/.test(text)) return Number(text)
  const ports = arrayAt(pod, 'spec', 'containers').flatMap((one) => arrayAt(one, 'ports'))
  const port = ports.find((one) => stringAt(one, 'name') === text)
  if (port === undefined) {
    throw noPort(
      `pod/${nameOf(pod)}`,
      text,
      ports.map((one) => portText(one, 'containerPort')),
    )
  }
  return Number(valueAt(port, 'containerPort'))
}

function noPort(what: string, text: string, known: readonly string[]): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_NO_PORT', `${what} has no port ${quote(text)}`, {
    hint: known.length === 0 ? 'it names no ports; write a number' : `it has: ${known.join(', ')}`,
  })
}

function portText(port: Json, field: string): string {
  const name = stringAt(port, 'name')
  return `${name === '' ? '' : `${name}=`}${scalarText(valueAt(port, field))}`
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}
