import type { Family, IpAddress } from '../../../lib/ip.ts'
import { API_SERVICE_NAMES, API_SERVICE_NAMESPACE } from '../../../resources/pod-environment.ts'
import type { AddressRange } from '../../allocation/address-range.ts'
import { services } from '../../kinds/service/resource.ts'
import { storageKey } from '../../resource/resource.ts'

/**
 * One of the Services by which Pods reach the API: `kubernetes` or `orch` in `default`. Unrelated to the kind
 * APIService of the group apiregistration.k8s.io.
 */
export interface ApiService {
  readonly name: string
  /** Its ClusterIP. */
  readonly ip: IpAddress
  readonly family: Family
}

/** Whether a storage key is that of a Service of the API. */
export function isApiServiceKey(key: string): boolean {
  return API_SERVICE_NAMES.some((name) => key === storageKey(services, API_SERVICE_NAMESPACE, name))
}

/** The Services of the API with the first addresses of a range: fewer when the range has only one address. */
export function apiServicesOf(range: AddressRange): readonly ApiService[] {
  const { family, size } = range
  return API_SERVICE_NAMES.slice(0, size).map((name, index) => ({
    name,
    family,
    ip: range.at(index),
  }))
}
