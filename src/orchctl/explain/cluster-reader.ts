import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { nodeAddresses } from '../nodes/node-address.ts'
import { listObjects } from '../reading/list-pages.ts'
import type { Api } from '../session/api.ts'

const NODES = '/api/v1/nodes'

/** Reads the objects that decide which node explains a connection. Every method throws what the server refuses. */
export interface ClusterReader {
  pod(namespace: string, name: string): Promise<JsonObject>
  node(name: string): Promise<JsonObject>
  /** The node that has an address; undefined: none has. */
  nodeOf(ip: IpAddress): Promise<JsonObject | undefined>
}

/** Reads by the API of a session. */
export function clusterReader(api: Api): ClusterReader {
  return {
    pod: (namespace, name) => api.send({ path: `/api/v1/namespaces/${namespace}/pods/${name}` }),
    node: (name) => api.send({ path: `${NODES}/${name}` }),
    nodeOf: async (ip) =>
      (await listObjects(api, { path: NODES })).find((node) => nodeAddresses(node).includes(ip)),
  }
}
