import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type {
  ContainerTarget,
  NodeStreams,
  PodTarget,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import { type StreamRequest, subjectOf } from '../request/api-request.ts'
import {
  badRequest,
  internalError,
  notFound,
  StatusError,
  serviceUnavailable,
} from '../status/status.ts'
import { readNewest } from '../verbs/read-newest.ts'

/** A Pod, and the agent of its node. */
export interface FoundPod {
  readonly pod: JsonObject
  readonly target: PodTarget
  readonly node: NodeStreams
}

/** The Pod of a request, if its node can be reached from here. */
export async function findPod(
  context: ServerContext,
  request: StreamRequest,
): Promise<FoundPod | StatusError> {
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  if (found instanceof StatusError) return found
  const pod = decodeStored(found)
  const { namespace, name } = request
  const nodeName = stringAt(pod, 'spec', 'nodeName')
  if (nodeName === '') return badRequest(`pod ${JSON.stringify(name)} is not on a node yet`)
  const node = context.nodeStreams(nodeName)
  if (node === undefined) {
    const where = `node ${JSON.stringify(nodeName)}`
    return serviceUnavailable(`this server has no connection to the agent of ${where}`)
  }
  return { pod, target: { namespace, name, uid: stringAt(pod, 'metadata', 'uid') }, node }
}

/** The container that a query names; the name may be left out if the Pod has only one container. */
export function containerOf(
  { pod, target }: FoundPod,
  query: URLSearchParams,
): ContainerTarget | StatusError {
  const names = arrayAt(pod, 'spec', 'containers').map((one) => stringAt(one, 'name'))
  const wanted = query.get('container') ?? ''
  const container = wanted === '' && names.length === 1 ? names[0]! : wanted
  if (names.includes(container)) return { ...target, container }
  if (container !== '') {
    return badRequest(`container ${JSON.stringify(container)} is not valid for pod ${target.name}`)
  }
  return badRequest(
    `a container name must be specified for pod ${target.name}, choose one of: [${names.join(' ')}]`,
  )
}

/** The answer for a stream that a node refused. */
export function refusalStatus({ kind, why }: StreamRefusal): StatusError {
  return kind === 'failed' ? internalError(why) : badRequest(why)
}
