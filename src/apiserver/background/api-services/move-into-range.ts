import { NodeProxyError } from '../../../lib/error.ts'
import { parseIp } from '../../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { timestamp } from '../../../lib/timestamp.ts'
import { API_SERVICE_NAMESPACE } from '../../../resources/pod-environment.ts'
import type { Operation } from '../../../storage/store.ts'
import { addressKey, allocationFor } from '../../allocation/allocation-keys.ts'
import type { ServerContext } from '../../context/server-context.ts'
import { decodeStored, encodeStored } from '../../encoding/codec.ts'
import { releaseOperations } from '../../kinds/service/allocation/release-operations.ts'
import { services } from '../../kinds/service/resource.ts'
import type { ApiRequest } from '../../request/api-request.ts'
import { storageKey } from '../../resource/resource.ts'
import { StatusError } from '../../status/status.ts'
import { readNewest } from '../../verbs/read-newest.ts'
import { systemRequest } from '../system-request.ts'
import type { ApiService } from './api-services.ts'

/**
 * The ClusterIP of a Service of the API, if it differs from the one that this server gives it;
 * the certificate of this server does not name it.
 */
export async function misplacedAddress(
  context: ServerContext,
  { name, ip }: ApiService,
): Promise<string | undefined> {
  const found = await readNewest(context, requestFor(context, name))
  if (found === undefined || found instanceof StatusError) return undefined
  const present = parseIp(stringAt(decodeStored(found), 'spec', 'clusterIP'))
  return present === ip ? undefined : present
}

/**
 * Replaces a Service of the API by one with its address in the range. A ClusterIP is immutable,
 * so the new Service has another uid. One transaction replaces the old one: no replica finds it
 * missing and creates it again with the old address.
 * @returns false when another writer changed the Service meanwhile: the caller tries again
 * @throws NP_APISERVER_MASTER_SERVICE when another Service has the address; the old Service stays
 */
export async function moveIntoRange(
  context: ServerContext,
  apiService: ApiService,
): Promise<boolean> {
  const { store, log } = context
  const request = requestFor(context, apiService.name)
  const before = await readNewest(context, request)
  if (before === undefined || before instanceof StatusError) return true
  const old = decodeStored(before)
  const key = storageKey(services, API_SERVICE_NAMESPACE, apiService.name)
  const address = addressKey(apiService.ip)
  const value = encodeStored(movedService(context, old, apiService))
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
  if (!result.committed && result.current[1] !== undefined) throw takenError(apiService)
  if (!result.committed) return false
  const from = stringAt(old, 'spec', 'clusterIP')
  const fields = { service: `${API_SERVICE_NAMESPACE}/${apiService.name}`, from, to: apiService.ip }
  log.warn(fields, 'a Service of the API moves into the changed range of ClusterIPs')
  return true
}

function movedService(
  { clock, random }: ServerContext,
  old: JsonObject,
  { ip, family }: ApiService,
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

function takenError({ name, ip }: ApiService): NodeProxyError {
  return new NodeProxyError(
    'NP_APISERVER_MASTER_SERVICE',
    `the Service of the API cannot move into the changed range: its address ${ip} belongs to another Service`,
    {
      object: `${API_SERVICE_NAMESPACE}/${name}`,
      hint: 'delete the Service that has the address; it is tried again every 10 s, and the old address is served until then',
    },
  )
}

function requestFor(context: ServerContext, name: string): ApiRequest {
  return systemRequest(context, {
    ...{ method: 'PUT', resource: services, namespace: API_SERVICE_NAMESPACE },
    name,
  })
}
