import type { ClusterApi, NodeObject, PodObject } from '../data/cluster-api.ts'
import type { ExplainQuery } from '../data/node-api.ts'
import { hostPort } from '../display/format.ts'

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f.]*:[\da-f:.]*)$/i

/** A connection as a query for the node on which it begins. */
export interface FoundConnection {
  readonly node: string
  readonly query: ExplainQuery
  /** What was found: `pod/shop/web-1 is 10.0.0.2 on node-7`. */
  readonly words: string
}

/** The connection that the user wrote. */
export interface WantedConnection extends ExplainQuery {
  /** Empty: the node of the source. */
  readonly node: string
}

/** Finds the node and the addresses. Throws RequestError, or Error if no node is found. */
export async function findConnection(
  api: ClusterApi,
  wanted: WantedConnection,
  nodes: readonly NodeObject[],
  signal: AbortSignal,
): Promise<FoundConnection> {
  const { protocol, inInterface } = wanted
  const destination = await destinationOf(api, wanted.destination, signal)
  const source = await sourceOf(api, { ...wanted, destination }, nodes, signal)
  const node = wanted.node || source.node
  const query = { source: source.text, destination, protocol, inInterface }
  if (node !== '') return { node, query, words: `${source.words} on ${node}` }
  throw new Error(
    `no Pod and no Node has the address "${wanted.source}": choose the node on which the connection arrives`,
  )
}

async function destinationOf(api: ClusterApi, text: string, signal: AbortSignal): Promise<string> {
  const end = parseEnd(text)
  if (end.kind !== 'pod') return text.replace(/^(?:service|svc)\//, '')
  const { namespace, name, port } = end
  if (port === '') throw new Error(`To "${text}" has no port: add it, as in pod/shop/web-1:80`)
  const pod = await api.pod(namespace, name, signal)
  return hostPort(addressOf(pod, undefined), Number(port))
}

interface Source {
  /** The end, in the form that a node understands. */
  readonly text: string
  /** Empty: not found. */
  readonly node: string
  readonly words: string
}

async function sourceOf(
  api: ClusterApi,
  { source, destination, node }: WantedConnection,
  nodes: readonly NodeObject[],
  signal: AbortSignal,
): Promise<Source> {
  const end = parseEnd(source)
  switch (end.kind) {
    case 'pod':
      return podSource(await api.pod(end.namespace, end.name, signal), familyOf(destination))
    case 'node': {
      const name = end.name || node
      if (name !== '') return { text: 'node', node: name, words: 'a process' }
      throw new Error('From "node" does not say which: write node/NAME, or choose the node')
    }
    case 'address': {
      const found = node === '' ? await nodeOfAddress(api, end.ip, nodes, signal) : node
      return { text: end.ip, node: found, words: end.ip }
    }
    case 'other':
      throw new Error(
        `From "${end.text}" is none of these: write pod/NAMESPACE/NAME, an address, or node/NAME`,
      )
  }
}

function podSource(pod: PodObject, family: 4 | 6 | undefined): Source {
  const { metadata, spec } = pod
  const name = `pod/${metadata.namespace ?? 'default'}/${metadata.name}`
  const node = spec?.nodeName ?? ''
  if (node === '') throw new Error(`${name} runs on no node yet`)
  if (spec?.hostNetwork === true) return { text: 'node', node, words: `${name}, a process of` }
  const ip = addressOf(pod, family)
  return { text: ip, node, words: `${name} is ${ip}` }
}

/** The address of the Pod of this family; undefined: of any family. */
function addressOf({ metadata, status }: PodObject, family: 4 | 6 | undefined): string {
  const all = [status?.podIP ?? '', ...(status?.podIPs ?? []).map(({ ip = '' }) => ip)]
  const fits = (ip: string) => family === undefined || ip.includes(':') === (family === 6)
  const found = all.find((ip) => ip !== '' && fits(ip))
  if (found !== undefined) return found
  const what = family === undefined ? 'no address yet' : `no address of IPv${family}`
  throw new Error(`the Pod "${metadata.name}" has ${what}`)
}

/** The node that has an address, or whose Pod has it; empty: there is none. */
async function nodeOfAddress(
  api: ClusterApi,
  ip: string,
  nodes: readonly NodeObject[],
  signal: AbortSignal,
): Promise<string> {
  const own = nodes.find(({ status }) => status?.addresses?.some(({ address }) => address === ip))
  if (own !== undefined) return own.metadata.name
  const pods = await api.podsAt(ip, signal)
  const running = pods.filter(({ status }) => !ENDED.has(status?.phase ?? ''))
  return running[0]?.spec?.nodeName ?? ''
}

/** The phases of Pods that have ended; another Pod may have their address by now. */
const ENDED = new Set(['Succeeded', 'Failed'])

/** One end of a connection, as the user writes it. */
type End =
  | {
      readonly kind: 'pod'
      readonly namespace: string
      readonly name: string
      readonly port: string
    }
  /** A process of a node; `name` empty: of the chosen node. */
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'address'; readonly ip: string }
  /** Any other text, which the node is to interpret. */
  | { readonly kind: 'other'; readonly text: string }

/** `pod/NAMESPACE/NAME[:PORT]`, `pod/NAME` of the namespace default, `node`, `node/NAME`, or an address. */
export function parseEnd(text: string): End {
  const [kind = '', ...words] = text.split('/')
  if (kind === 'pod' && words.length > 0 && words.length <= 2) {
    const [name = '', port = ''] = (words.at(-1) ?? '').split(':')
    return { kind, namespace: words.length === 2 ? (words[0] ?? '') : 'default', name, port }
  }
  if (kind === 'node' && words.length <= 1) return { kind, name: words[0] ?? '' }
  if (ADDRESS.test(text)) return { kind: 'address', ip: text }
  return { kind: 'other', text }
}

/** The family of an address that a destination begins with; undefined: it is a name. */
function familyOf(destination: string): 4 | 6 | undefined {
  if (destination.startsWith('[')) return 6
  return /^\d{1,3}\.\d/.test(destination) ? 4 : undefined
}
