import type { ServerResponse } from 'node:http'
import {
  type MadeFailure,
  nodeObject,
  nodeStatus,
  PECULIARITIES,
  type Peculiarity,
  podIp,
  podObject,
  statusFailure,
} from './cluster-nodes.ts'
import { entriesOf, serviceOf, statusOf, trafficOf } from './fake-answers.ts'
import { type Answer, nodeAnswers, sendJson, sendLines } from './node-answers.ts'

/** The properties of a made-up cluster. */
export interface MadeCluster {
  readonly nodes: number
  readonly services: number
  /** How every second node differs. */
  readonly everySecond?: Peculiarity
  /** Names that the last Nodes have instead of their own. */
  readonly nodeNames?: readonly string[]
  /** Names that the first Services have instead of their own. */
  readonly serviceNames?: readonly string[]
}

/** Answers a GET request of the API: Nodes, Pods, and the node-proxy of each node. */
export function clusterAnswers({
  nodes,
  services,
  everySecond = {},
  nodeNames = [],
  serviceNames = [],
}: MadeCluster) {
  const first = nodes - nodeNames.length
  const names = Array.from(
    { length: nodes },
    (_, index) => nodeNames[index - first] ?? `node-${index + 1}`,
  )
  const nameOf = (index: number) => serviceNames[index] ?? serviceOf(index).service
  const objects = objectAnswers(names)
  const node = nodeAnswer({ names, services, nameOf, everySecond })
  return (path: string, query: URLSearchParams, response: ServerResponse): void => {
    const found = objects(path, query)
    if (found !== undefined) sendJson(response, found)
    else if (!node(path, query, response)) {
      sendFailure(response, statusFailure(404, `${path} not found`))
    }
  }
}

/** Answers with a failure. */
export function sendFailure(response: ServerResponse, { status, body }: MadeFailure): void {
  sendJson(response, body, status)
}

function objectAnswers(names: readonly string[]) {
  const list = names.map((name, index) => nodeObject(index + 1, name))
  const pods = names.map((name, index) => podObject(index + 1, name))
  return (path: string, query: URLSearchParams): unknown => {
    if (path === '/api/v1/nodes') return { kind: 'NodeList', items: list }
    if (path.startsWith('/apis/discovery.k8s.io/v1/namespaces/')) return { items: [] }
    if (path === '/api/v1/pods') {
      const selector = query.get('fieldSelector') ?? ''
      return { items: pods.filter((_, index) => selector === `status.podIP=${podIp(index + 1)}`) }
    }
    const [, number] = /^\/api\/v1\/namespaces\/shop\/pods\/web-(\d+)$/.exec(path) ?? []
    return number === undefined ? undefined : pods[Number(number) - 1]
  }
}

interface MadeNodes {
  readonly names: readonly string[]
  readonly services: number
  readonly nameOf: (index: number) => string
  readonly everySecond: Peculiarity
}

const PATH = /^\/api\/v1\/nodes\/([^/]+)\/proxy\/inspection\/v1\/(\w+)$/

function nodeAnswer({ names, services, nameOf, everySecond }: MadeNodes) {
  const common = nodeAnswers({ services, nameOf, readers: new Set() })
  const status = statusOf(services)
  const indexes = new Map(Array.from({ length: services }, (_, index) => [nameOf(index), index]))
  return (path: string, query: URLSearchParams, response: ServerResponse): boolean => {
    const [, word = '', rest = ''] = PATH.exec(path) ?? []
    const name = decodeURIComponent(word)
    const number = names.indexOf(name) + 1
    const own = { ...PECULIARITIES[number], ...(number % 2 === 0 ? everySecond : {}) }
    const { failure, entry } = own
    const index = indexes.get(query.get('service') ?? '')
    const answers: Readonly<Record<string, Answer>> = {
      status: () => sendJson(response, nodeStatus(status, { number, name, own })),
      ...(index === undefined ? {} : serviceAnswers(index, nameOf(index), entry)),
    }
    const answer = answers[rest] ?? common[rest]
    if (number === 0 || answer === undefined) return false
    if (failure === undefined) answer(query, response)
    else sendFailure(response, failure)
    return true
  }
}

/** The answers about Services, prepared so that no request searches through all Services. */
function serviceAnswers(
  index: number,
  name: string,
  change: Peculiarity['entry'],
): Readonly<Record<string, Answer>> {
  return {
    entries: (_, response) => {
      const entries = entriesOf(index, name)
      sendLines(response, index === 0 && change ? entries.map(change) : entries)
    },
    traffic: (_, response) => sendLines(response, [trafficOf(index, name, Date.now())]),
  }
}
