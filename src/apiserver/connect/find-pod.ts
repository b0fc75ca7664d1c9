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
import { findKubelet } from './kubelet.ts'
import { kubeletStreams } from './kubelet-streams.ts'

/** A Pod, and the agent of its node. */
export interface FoundPod {
  readonly pod: JsonObject
  readonly target: PodTarget
  readonly node: NodeStreams
  /** Whether the agent of this process runs it, which opens connections to its addresses itself. */
  readonly isLocal: boolean
}

/** The Pod of a request, if its node can be reached from here. */
export async function findPod(
  context: ServerContext,
  request: StreamRequest,
): Promise<FoundPod | StatusError> {
  const stored = await readNewest(context, request)
  if (stored === undefined) return notFound(subjectOf(request))
  if (stored instanceof StatusError) return stored
  const pod = decodeStored(stored)
  const { namespace, name } = request
  const nodeName = stringAt(pod, 'spec', 'nodeName')
  if (nodeName === '') return badRequest(`pod ${JSON.stringify(name)} is not on a node yet`)
  const found = { pod, target: { namespace, name, uid: stringAt(pod, 'metadata', 'uid') } }
  const node = context.nodeStreams(nodeName)
  if (node !== undefined) return { ...found, node, isLocal: true }
  const { runsOn } = request.served.resource
  const kubelet =
    runsOn && (await findKubelet(context, request, { resource: runsOn, name: nodeName }))
  if (kubelet instanceof StatusError) return kubelet
  if (kubelet !== undefined)
    return { ...found, node: kubeletStreams(context, kubelet), isLocal: false }
  const where = `node ${JSON.stringify(nodeName)}`
  return serviceUnavailable(
    `this server has no connection to the agent of ${where}, and its Node names no kubelet`,
  )
}

/**
 * The container that a query names, which may also be an init container or an ephemeral one. The name may be left out
 * if the Pod has only one container.
 */
export function containerOf(
  { pod, target }: FoundPod,
  query: URLSearchParams,
): ContainerTarget | StatusError {
  const names = namesIn(pod, 'containers')
  const others = ['initContainers', 'ephemeralContainers'].flatMap((field) => namesIn(pod, field))
  const wanted = query.get('container') ?? ''
  const container = wanted === '' && names.length === 1 ? names[0]! : wanted
  if ([...names, ...others].includes(container)) return { ...target, container }
  if (container !== '') {
    return badRequest(`container ${JSON.stringify(container)} is not valid for pod ${target.name}`)
  }
  return badRequest(
    `a container name must be specified for pod ${target.name}, choose one of: [${names.join(' ')}]`,
  )
}

function namesIn(pod: JsonObject, field: string): readonly string[] {
  return arrayAt(pod, 'spec', field).map((one) => stringAt(one, 'name'))
}

/** The answer for a stream that a node refused. */
export function refusalStatus({ kind, why }: StreamRefusal): StatusError {
  if (kind === 'unreachable') return serviceUnavailable(why)
  return kind === 'failed' ? internalError(why) : badRequest(why)
}
