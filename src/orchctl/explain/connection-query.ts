import { familyOf, hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { nodeAddresses } from '../nodes/node-address.ts'
import { usageError } from '../usage/usage-error.ts'
import type { ClusterReader } from './cluster-reader.ts'
import { type Operand, parseOperand } from './operand.ts'

/** The question for `/inspection/v1/explain`, and the Node object that answers it. */
export interface ConnectionQuery {
  readonly node: JsonObject
  readonly source: string
  readonly destination: string
}

/** What the command line says. */
export interface WrittenConnection {
  readonly source: string
  readonly destination: string
  /** `--node` */
  readonly node: string | undefined
  /** Of names without one. */
  readonly namespace: string
}

/**
 * Finds addresses and node of a connection: the node on which it begins, else the one that has the destination.
 * @throws NP_ORCHCTL_USAGE, and what the server refuses
 */
export async function connectionQuery(
  written: WrittenConnection,
  reader: ClusterReader,
): Promise<ConnectionQuery> {
  const source = operandOf('SOURCE', written.source)
  const destination = operandOf('DESTINATION', written.destination)
  if (source.kind === 'service') {
    throw usageError('SOURCE is a Service', 'write pod/NAME, node/NAME or an address')
  }
  const end = await destinationEnd(destination, written.namespace, reader)
  const start = await sourceStart(source, { written, family: familyIn(end.text) }, reader)
  const given = written.node === undefined ? undefined : await reader.node(written.node)
  const node = given ?? start.node ?? end.node ?? (await ownerOf(destination, reader))
  if (node !== undefined) return { node, source: start.text, destination: end.text }
  throw usageError(
    `which node the connection reaches is not known: no Node has the address of ${quote(written.destination)}`,
    'give --node NAME',
  )
}

function operandOf(what: string, text: string): Operand {
  const operand = parseOperand(text)
  if (operand !== undefined) return operand
  const hint =
    'write pod/NAME, service/NAME:PORT, node/NAME or an address, names as NAMESPACE/NAME, too'
  throw usageError(`${what} ${quote(text)} is none of these`, hint)
}

/** One end in the words of a node, and the node that it belongs to. */
interface End {
  readonly text: string
  readonly node?: JsonObject
}

async function destinationEnd(
  operand: Operand,
  namespace: string,
  reader: ClusterReader,
): Promise<End> {
  if (operand.kind === 'service') {
    const { name, port } = operand
    return {
      text: `${operand.namespace ?? namespace}/${name}${port === undefined ? '' : `:${port}`}`,
    }
  }
  const port = Number(operand.port)
  if (!(port >= 1 && port <= 65_535)) {
    throw usageError('DESTINATION has no port', 'add the number of a port, as in pod/web-1:80')
  }
  if (operand.kind === 'address') return { text: hostPort(operand.ip, port) }
  if (operand.kind === 'pod') {
    const pod = await reader.pod(operand.namespace ?? namespace, operand.name)
    return { text: hostPort(podAddress(pod, undefined), port) }
  }
  const node = await reader.node(operand.name)
  const [ip] = nodeAddresses(node)
  if (ip === undefined) throw usageError(`node ${quote(operand.name)} has no address`)
  return { text: hostPort(ip, port), node }
}

interface Start {
  readonly written: WrittenConnection
  /** Of the destination; undefined: any. */
  readonly family: 4 | 6 | undefined
}

async function sourceStart(
  operand: Exclude<Operand, { kind: 'service' }>,
  { written, family }: Start,
  reader: ClusterReader,
): Promise<End> {
  if (operand.port !== undefined) throw usageError('SOURCE has a port', 'leave it out')
  if (operand.kind === 'address') {
    const node = await reader.nodeOf(operand.ip)
    return { text: operand.ip, ...(node === undefined ? {} : { node }) }
  }
  if (operand.kind === 'node') return { text: 'node', node: await reader.node(operand.name) }
  const pod = await reader.pod(operand.namespace ?? written.namespace, operand.name)
  const nodeName = stringAt(pod, 'spec', 'nodeName')
  if (nodeName === '') {
    throw usageError(`pod ${quote(operand.name)} runs on no node yet`, 'orchctl describe shows why')
  }
  const isOnHost = valueAt(pod, 'spec', 'hostNetwork') === true
  const node = await reader.node(nodeName)
  return { text: isOnHost ? 'node' : podAddress(pod, family), node }
}

/** The address of the family; of any where it is undefined. */
function podAddress(pod: JsonObject, family: 4 | 6 | undefined): IpAddress {
  const all = [
    stringAt(pod, 'status', 'podIP'),
    ...arrayAt(pod, 'status', 'podIPs').map((one) => stringAt(one, 'ip')),
  ].flatMap((text) => parseIp(text) ?? [])
  const found = all.find((ip) => family === undefined || familyOf(ip) === family)
  if (found !== undefined) return found
  const what = family === undefined ? 'no address yet' : `no address of IPv${family}`
  throw usageError(`pod ${quote(stringAt(pod, 'metadata', 'name'))} has ${what}`)
}

function familyIn(destination: string): 4 | 6 | undefined {
  if (destination.startsWith('[')) return 6
  return parseIp(destination.split(':', 1)[0] ?? '') === undefined ? undefined : 4
}

async function ownerOf(
  destination: Operand,
  reader: ClusterReader,
): Promise<JsonObject | undefined> {
  return destination.kind === 'address' ? reader.nodeOf(destination.ip) : undefined
}
