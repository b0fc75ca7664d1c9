import type { TLSSocket } from 'node:tls'
import { SERVER_USER } from '../../auth/user.ts'
import { type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored } from '../encoding/codec.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { type Resource, servedVersionsOf } from '../resource/resource.ts'
import { conflict, StatusError } from '../status/status.ts'
import { readNewest } from '../verbs/read-newest.ts'
import { updateObject } from '../verbs/update.ts'
import { nodeAddresses } from './node-addresses.ts'
import type { NodeTarget } from './node-client.ts'
import { KUBELET, OTHER_CERTIFICATE, PINNED_CERTIFICATE } from './node-faults.ts'

/**
 * The kubelet of a node by the newest state of its Node, or why it cannot be reached; undefined: the Node does not
 * exist or names none.
 */
export async function findKubelet(
  context: ServerContext,
  request: ApiRequest,
  { resource, name }: { readonly resource: Resource; readonly name: string },
): Promise<NodeTarget | StatusError | undefined> {
  const own = ownRequest(request, resource, name)
  const found = await readNewest(context, own)
  if (found === undefined || found instanceof StatusError) return found
  return kubeletOf(context, own, decodeStored(found))
}

/** The kubelet that a Node names in `status.daemonEndpoints`; `request`: any for this Node. */
export function kubeletOf(
  context: ServerContext,
  request: ApiRequest,
  node: JsonObject,
): NodeTarget | StatusError | undefined {
  const port = valueAt(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port')
  if (!isPort(port)) return undefined
  const { addressTypes, credentials } = context.kubelets
  const addresses = nodeAddresses(context, node, { port, types: addressTypes })
  if (addresses instanceof StatusError) return addresses
  const { name } = request
  const trusted = credentials()
  const target = { server: KUBELET, node: name, addresses, port, credentials: trusted }
  if (trusted?.isPinning !== true) return target
  const pinned = stringAt(node, 'metadata', 'annotations', PINNED_CERTIFICATE)
  return {
    ...target,
    refuse: (socket) => otherCertificate(socket, pinned),
    confirm: async (socket) =>
      socket.authorized || pinned !== ''
        ? undefined
        : pin(context, ownRequest(request, request.served.resource, name), fingerprint(socket)),
  }
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= 65_535
}

/** Refuses a certificate that no known authority signed and that is not the pinned one, if there is one. */
function otherCertificate(socket: TLSSocket, pinned: string): Error | undefined {
  if (socket.authorized || pinned === '' || pinned === fingerprint(socket)) return undefined
  return Object.assign(new Error('another certificate'), { code: OTHER_CERTIFICATE })
}

/** Writes the certificate of the first connection to the Node, before anything is sent to the kubelet. */
async function pin(
  context: ServerContext,
  request: ApiRequest,
  print: string,
): Promise<StatusError | undefined> {
  const { served, name } = request
  const annotate = (old: JsonObject): JsonObject | StatusError => {
    const metadata = objectAt(old, 'metadata')
    const annotations = objectAt(metadata, 'annotations')
    const known = stringAt(annotations, PINNED_CERTIFICATE)
    if (known !== '' && known !== print) {
      const subject = { plural: served.resource.plural, group: '', name }
      return conflict(subject, 'its kubelet presented two certificates at the same time')
    }
    return {
      ...old,
      metadata: { ...metadata, annotations: { ...annotations, [PINNED_CERTIFICATE]: print } },
    }
  }
  const options = { dryRun: false, isConditional: false }
  const written = await updateObject(context, request, annotate, options)
  if (written instanceof StatusError) return written
  context.log.info(
    { node: name, certificate: print },
    'no known authority signed the certificate of a kubelet, so it was pinned to its Node',
  )
  return undefined
}

/** A request of the server itself for a Node, within the deadline of a client's request. */
function ownRequest(request: ApiRequest, resource: Resource, name: string): ApiRequest {
  const [served] = servedVersionsOf(resource)
  return {
    ...request,
    method: 'PATCH',
    user: SERVER_USER,
    served: served!,
    namespace: '',
    name,
    subresource: '',
    query: new URLSearchParams(),
    userAgent: 'orch-server/system',
    body: Buffer.alloc(0),
    warn: () => undefined,
  }
}

/** The SHA-256 of the certificate of the other end. */
function fingerprint(socket: TLSSocket): string {
  return `sha256:${socket.getPeerCertificate().fingerprint256.replaceAll(':', '').toLowerCase()}`
}
