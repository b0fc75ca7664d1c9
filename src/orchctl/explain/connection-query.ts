import { familyOf, hostPort, type IpAddress, parseIp, splitHostPort } from '../../lib/ip.ts'
import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { nodeAddresses } from '../nodes/node-inspection.ts'
import { usageError } from '../usage/exit-code.ts'
import { type ClusterReader, podAddresses } from './cluster-reader.ts'

const KINDS: ReadonlyMap<string, 'pod' | 'service' | 'node'> = new Map([
  ['pod', 'pod'],
  ['pods', 'pod'],
  ['po', 'pod'],
  ['service', 'service'],
  ['services', 'service'],
  ['svc', 'service'],
  ['node', 'node'],
  ['nodes', 'node'],
  ['no', 'node'],
])

const NAME = /^([a-z]+)\/(?:([a-z0-9-]+)\/)?([a-z0-9][a-z0-9.-]*)(?::([a-z0-9-]+))?$/

/** The question for `/inspection/v1/explain`, and the Node object that answers it. */
export interface ConnectionQuery {
  readonly node: JsonObject
  readonly source: string
  readonly destination: string
  /** The Pod of the source, if one was named or found. */
  readonly sourcePod?: JsonObject
}

/** The connection as the command line describes it. */
export interface WrittenConnection {
  readonly source: string
  readonly destination: string
  /** `--node` */
  readonly node: string | undefined
  /** The namespace of names without one. */
  readonly namespace: string
}

/**
 * Finds the addresses and the node of a connection: the node on which it begins, else the node of the destination.
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
  const query = { source: start.text, destination: end.text }
  const known = given ?? start.node
  if (known !== undefined) {
    return { node: known, ...query, ...(start.pod && { sourcePod: start.pod }) }
  }
  const found = await placeOf(source, end, reader)
  if (found !== undefined) return { ...query, ...found }
  throw usageError(
    `cannot find the node that the connection reaches: no Node and no Pod has the address of ${quote(written.source)} or ${quote(written.destination)}`,
    'give --node NAME',
  )
}

/**
 * The node of the Pod that has the source address, else the node of the destination, which is also the answer for a
 * user who may not list Pods.
 */
async function placeOf(
  source: Operand,
  end: End,
  reader: ClusterReader,
): Promise<Pick<ConnectionQuery, 'node' | 'sourcePod'> | undefined> {
  const [search] = await Promise.allSettled([
    source.kind === 'address' ? reader.podOf(source.ip) : undefined,
  ])
  if (search.status === 'fulfilled' && search.value !== undefined) {
    const node = await nodeOfPod(search.value, reader)
    if (node !== undefined) return { node, sourcePod: search.value }
  }
  const node =
    end.node ??
    (await nodeOfPod(end.pod, reader)) ??
    (end.ip && ((await reader.nodeOf(end.ip)) ?? (await nodeAt(end.ip, reader))))
  if (node !== undefined) return { node }
  if (search.status === 'rejected') throw search.reason
  return undefined
}

/** The node of the Pod that has an address. */
async function nodeAt(ip: IpAddress, reader: ClusterReader): Promise<JsonObject | undefined> {
  return nodeOfPod(await reader.podOf(ip), reader)
}

async function nodeOfPod(
  pod: JsonObject | undefined,
  reader: ClusterReader,
): Promise<JsonObject | undefined> {
  const name = stringAt(pod, 'spec', 'nodeName')
  return name === '' ? undefined : reader.node(name)
}

function operandOf(what: string, text: string): Operand {
  const operand = parseOperand(text)
  if (operand !== undefined) return operand
  const hint =
    'write pod/NAME, service/NAME:PORT, node/NAME or an address, names as NAMESPACE/NAME, too'
  throw usageError(`${what} ${quote(text)} is none of these`, hint)
}

/** One end, in the form that a node understands, and the node to which it belongs. */
interface End {
  readonly text: string
  readonly node?: JsonObject
  readonly pod?: JsonObject
  /** The address of a destination that was written as an address. */
  readonly ip?: IpAddress
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
  if (operand.kind === 'address') return { text: hostPort(operand.ip, port), ip: operand.ip }
  if (operand.kind === 'pod') {
    const pod = await reader.pod(operand.namespace ?? namespace, operand.name)
    return { text: hostPort(podAddress(pod, undefined), port), pod }
  }
  const node = await reader.node(operand.name)
  const [ip] = nodeAddresses(node)
  if (ip === undefined) throw usageError(`node ${quote(operand.name)} has no address`)
  return { text: hostPort(ip, port), node }
}

interface Start {
  readonly written: WrittenConnection
  /** The family of the destination; undefined: any. */
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
  return { text: isOnHost ? 'node' : podAddress(pod, family), node, pod }
}

/** The address of the Pod of this family; undefined: of any family. */
function podAddress(pod: JsonObject, family: 4 | 6 | undefined): IpAddress {
  const found = podAddresses(pod).find((ip) => family === undefined || familyOf(ip) === family)
  if (found !== undefined) return found
  const what = family === undefined ? 'no address yet' : `no address of IPv${family}`
  throw usageError(`pod ${quote(stringAt(pod, 'metadata', 'name'))} has ${what}`)
}

function familyIn(destination: string): 4 | 6 | undefined {
  const ip = parseIp(splitHostPort(destination)?.host ?? '')
  return ip && familyOf(ip)
}

/** One end of a connection, as the user writes it. */
type Operand =
  | {
      readonly kind: 'pod' | 'service'
      readonly namespace: string | undefined
      readonly name: string
      readonly port: string | undefined
    }
  | { readonly kind: 'node'; readonly name: string; readonly port: string | undefined }
  | { readonly kind: 'address'; readonly ip: IpAddress; readonly port: string | undefined }

/**
 * Parses `pod/NAME`, `pod/NAMESPACE/NAME`, `service/…`, `node/NAME`, or an address, each with an optional `:PORT`.
 * Undefined: the text has none of these forms.
 */
function parseOperand(text: string): Operand | undefined {
  return parseAddress(text) ?? parseName(text)
}

function parseAddress(text: string): Operand | undefined {
  const { host = '', port } = splitHostPort(text) ?? {}
  const ip = parseIp(host)
  return ip === undefined ? undefined : { kind: 'address', ip, port }
}

function parseName(text: string): Operand | undefined {
  const [, word = '', namespace, name = '', port] = NAME.exec(text) ?? []
  const kind = KINDS.get(word)
  if (kind === undefined) return undefined
  if (kind !== 'node') return { kind, namespace, name, port }
  return namespace === undefined ? { kind, name, port } : undefined
}
