import { NodeProxyError } from '../../lib/error.ts'
import { parseIp } from '../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import { MASTER_NAMESPACE } from '../../resources/pod-environment.ts'
import type { Operation } from '../../storage/store.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored, encodeStored } from '../encoding/codec.ts'
import { services } from '../kinds/service.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { storageKey } from '../resource/resource.ts'
import { addressKey, allocationFor } from '../services/claim.ts'
import { releaseOperations } from '../services/release-operations.ts'
import { StatusError } from '../status/status.ts'
import { readNewest } from '../verbs/read-newest.ts'
import type { Master } from './masters.ts'
import { systemRequest } from './system-request.ts'

/**
 * The ClusterIP that a Service of the API has, if it is not the one that this server would give it:
 * only that one stands in its certificate.
 */
export async function strayAddress(
  context: ServerContext,
  { name, ip }: Master,
): Promise<string | undefined> {
  const found = await readNewest(context, requestFor(context, name))
  if (found === undefined || found instanceof StatusError) return undefined
  const present = parseIp(stringAt(decodeStored(found), 'spec', 'clusterIP'))
  return present === ip ? undefined : present
}

/**
 * Replaces a Service of the API by one with its address in the range. As a ClusterIP
 * cannot be changed it is another Service, with another uid; it takes the place of
 * the old one in one transaction, so that no replica finds it missing and makes
 * it again with the old address. It stays where the new address is taken.
 * @returns whether nothing is left to do
 * @throws NP_APISERVER_MASTER_SERVICE
 */
export async function replaceStray(context: ServerContext, master: Master): Promise<boolean> {
  const { store, log } = context
  const request = requestFor(context, master.name)
  const before = await readNewest(context, request)
  if (before === undefined || before instanceof StatusError) return true
  const old = decodeStored(before)
  const key = storageKey(services, MASTER_NAMESPACE, master.name)
  const address = addressKey(master.ip)
  const value = encodeStored(successorOf(context, old, master))
  const operations: readonly Operation[] = [
    { op: 'put', key, value },
    { op: 'put', key: address, value: allocationFor(key) },
    ...(await releaseOperations(store, key, old)),
  ]
  const compare = [
    { key, modRevision: before.modRevision },
    { key: address, modRevision: 0 },
  ]
  const result = await store.txn({ compare, operations })
  if (!result.committed && result.current[1] !== undefined) throw takenError(master)
  if (!result.committed) return false
  const from = stringAt(old, 'spec', 'clusterIP')
  const fields = { service: `${MASTER_NAMESPACE}/${master.name}`, from, to: master.ip }
  log.warn(fields, 'a Service of the API moves into the changed range of ClusterIPs')
  return true
}

function successorOf(
  { clock, random }: ServerContext,
  old: JsonObject,
  { ip, family }: Master,
): JsonObject {
  const metadata = {
    ...objectAt(old, 'metadata'),
    uid: random.uuid(),
    creationTimestamp: timestamp(clock.now()),
  }
  const addresses = { clusterIP: ip, clusterIPs: [ip], ipFamilies: [`IPv${family}`] }
  const spec = { ...objectAt(old, 'spec'), ...addresses, ipFamilyPolicy: 'SingleStack' }
  return { ...old, metadata, spec }
}

function takenError({ name, ip }: Master): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot move into the changed range: its address ${ip} belongs to another Service`,
    {
      object: `${MASTER_NAMESPACE}/${name}`,
      hint: 'delete the Service that has the address; it is tried again every 10 s, and the old address is served until then',
    },
  )
}

function requestFor(context: ServerContext, name: string): ApiRequest {
  return systemRequest(context, {
    ...{ method: 'PUT', resource: services, namespace: MASTER_NAMESPACE },
    name,
  })
}
