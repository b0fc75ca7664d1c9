import { NodeProxyError } from '../../lib/error.ts'
import { parseIp } from '../../lib/ip.ts'
import { objectAt, stringAt } from '../../lib/json.ts'
import { MASTER_NAMESPACE } from '../../resources/pod-environment.ts'
import { decodeStored } from '../codec.ts'
import { services } from '../kinds/service.ts'
import { STALE } from '../persist.ts'
import { storageKey } from '../resource.ts'
import { addressKey } from '../services/claim.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { readNewest } from '../verbs/read-newest.ts'
import { removeObject } from '../verbs/remove-object.ts'
import type { Master } from './masters.ts'
import { systemRequest } from './system-request.ts'

/** The ClusterIP that a Service of the API has outside of the ranges of this server, if it has one. */
export async function strayAddress(
  serving: Serving,
  { name }: Master,
): Promise<string | undefined> {
  const found = await readNewest(serving, systemRequest('PUT', services, MASTER_NAMESPACE, name))
  if (found === undefined || found instanceof Refusal) return undefined
  const text = stringAt(decodeStored(found), 'spec', 'clusterIP')
  const ip = parseIp(text)
  if (ip === undefined) return undefined
  return serving.allocator.ranges.some((range) => range.contains(ip)) ? undefined : text
}

/**
 * Deletes a Service of the API, so that it is made again with its address in the
 * range: a ClusterIP cannot be changed. It stays where that address is taken.
 * @throws NP_APISERVER_MASTER_SERVICE
 */
export async function removeStray(serving: Serving, master: Master): Promise<void> {
  const { store } = serving
  const taken = await store.get(addressKey(master.ip))
  if (taken !== undefined) throw takenError(master)
  const request = systemRequest('DELETE', services, MASTER_NAMESPACE, master.name)
  const before = await readNewest(serving, request)
  if (before === undefined || before instanceof Refusal) return
  const old = decodeStored(before)
  const key = storageKey(services, MASTER_NAMESPACE, master.name)
  const removed = await removeObject(serving, request, { key, before, old, next: old, dryRun: false })
  if (removed === STALE) return
  const from = stringAt(objectAt(old, 'spec'), 'clusterIP')
  const fields = { service: `${MASTER_NAMESPACE}/${master.name}`, from, to: master.ip }
  serving.log.warn(fields, 'a Service of the API moves into the changed range of ClusterIPs')
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
