import { create } from '@bufbuild/protobuf'
import {
  type ConnectionQuery,
  readConnections,
  type TrackedConnections,
} from '../../explain/read-connections.ts'
import type { WalkWorld } from '../../explain/walk/walk-packet.ts'
import { openLocalReaders } from '../../explain/world/local-readers.ts'
import { readWorld } from '../../explain/world/read-world.ts'
import { recordedWorld, worldOfFiles } from '../../explain/world/world-record.ts'
import {
  type ExplainRequest,
  ExplainRequestSchema,
  type ExplainResponse,
  ExplainResponseSchema,
} from '../../inspection/generated/inspection_pb.ts'
import { withInspection } from '../../inspection/inspection-client.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { DESIRED_DOCUMENT, parseDesired } from '../inspection/desired-state.ts'
import { explainMessage } from '../inspection/explain-message.ts'
import { POLICIES_DOCUMENT, parsePolicies } from '../inspection/policies-document.ts'
import { POOLS_DOCUMENT, parsePools } from '../inspection/pools-document.ts'
import { type BundleFiles, bundleError, readBundle } from './bundle-file.ts'

/** The request to a forwarding table: by `service`, by `dst` and `port`, or by `port` alone: a node port. */
export type DesiredQuery = Pick<
  ExplainRequest,
  'src' | 'dst' | 'port' | 'protocol' | 'inInterface' | 'service'
>

const ABSENT =
  'node-proxy itself was not recorded: it did not run, or it had not listed the cluster'

/** A node on which packets are explained: this one, or a recorded one. */
export interface KnownNode {
  readonly world: WalkWorld
  readonly desired: ReadDesired
  /** Connections that the kernel has already; a text: why they are not known. */
  readonly connections: (query: ConnectionQuery) => Promise<TrackedConnections | string>
  /** Ends the programs that query the routes of this node. */
  close(): Promise<void>
}

/** This node as it is now. Throws NP_EXPLAIN_READ. */
export async function readThisNode(socket: string): Promise<KnownNode> {
  const readers = openLocalReaders()
  const close = () => readers.close()
  try {
    return {
      world: await readWorld(readers),
      desired: (query) => inspect(socket, query),
      connections: (query) => readConnections(readers.run, query),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The node of a file of `node-proxy record`. Throws NP_NODEPROXY_BUNDLE. */
export async function readRecordedNode(path: string): Promise<KnownNode> {
  const files: BundleFiles = await readBundle(path)
  try {
    const world = await recordedWorld(worldOfFiles(files))
    const connections = async () => 'connections are not recorded'
    return { world, desired: recordedDesired(files), connections, close: async () => undefined }
  } catch (error) {
    throw bundleError('is not a complete bundle of node-proxy record', path, error)
  }
}

/** A Service by its name, or a node port, cannot be found without node-proxy; an address can be explained without it. */
async function inspect(socket: string, query: DesiredQuery): Promise<ExplainResponse | string> {
  try {
    return await withInspection(socket, (client) => client.explain({ ...query }))
  } catch (error) {
    const isAbsent = error instanceof NodeProxyError && error.code === 'NP_INSPECTION_UNREACHABLE'
    if (!isAbsent || query.dst === '') throw error
    return `${error.message}; ${error.hint ?? ''}`
  }
}

/** What the recorded node-proxy wants. Throws a SyntaxError where a document is damaged. */
function recordedDesired(files: BundleFiles): ReadDesired {
  const text = files.get(`node-proxy/${DESIRED_DOCUMENT}`)
  const pools = files.get(`node-proxy/${POOLS_DOCUMENT}`)
  const policies = files.get(`node-proxy/${POLICIES_DOCUMENT}`)
  const state =
    text === undefined
      ? undefined
      : {
          ...parseDesired(text),
          ...(pools !== undefined && { explainPool: parsePools(pools) }),
          ...(policies !== undefined && { refusalOf: parsePolicies(policies) }),
        }
  return async (query) => {
    if (state === undefined) {
      if (query.dst !== '') return ABSENT
      throw new NodeProxyError('NP_INSPECTION_REFUSED', `destination: ${ABSENT}`, {
        hint: 'give the address and port of the Service',
      })
    }
    const found = explainMessage(state, create(ExplainRequestSchema, query))
    if (typeof found === 'string') throw new NodeProxyError('NP_INSPECTION_REFUSED', found)
    return create(ExplainResponseSchema, found)
  }
}

/**
 * What node-proxy wants; a text: why that is not known. Throws NP_INSPECTION_REFUSED where the request is wrong, and
 * NP_INSPECTION_UNREACHABLE if a Service is requested by name and node-proxy does not answer.
 */
type ReadDesired = (query: DesiredQuery) => Promise<ExplainResponse | string>
