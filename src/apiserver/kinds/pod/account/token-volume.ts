import { posix } from 'node:path'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
} from '../../../../lib/json.ts'
import type { Random } from '../../../../lib/random.ts'
import { nameSuffix } from '../../../resource/name-suffix.ts'

/** Where programs look for their token: under our brand's path and Kubernetes'. */
export const TOKEN_PATHS: readonly string[] = [
  '/var/run/secrets/kubernetes.io/serviceaccount',
  '/var/run/secrets/orch.io/serviceaccount',
]
const VOLUME_PREFIX = 'kube-api-access-'
/** An hour, and seven seconds by which Kubernetes recognizes such tokens. */
const TOKEN_SECONDS = 3607

/**
 * The spec with the token of its account, the certificate of the server and the namespace, mounted
 * read-only in all containers at both paths where a container has no mount of its own. A volume that
 * a copied Pod brings is used again.
 */
export function withTokenVolume(spec: JsonObject, random: Random): JsonObject {
  const volumes = valueAt(spec, 'volumes') ?? []
  if (!Array.isArray(volumes)) return spec
  const brought = volumes.find(isTokenVolume)
  const name = stringAt(brought, 'name') || `${VOLUME_PREFIX}${nameSuffix(random)}`
  const mounted: JsonObject = { ...spec }
  for (const field of ['initContainers', 'containers']) {
    const containers = arrayAt(spec, field)
    if (containers.length > 0) mounted[field] = containers.map((one) => withMounts(one, name))
  }
  const isMounted = ['initContainers', 'containers'].some((field) =>
    arrayAt(spec, field).some((container) => freePaths(container).length > 0),
  )
  if (!isMounted || brought !== undefined) return mounted
  return { ...mounted, volumes: [...volumes, tokenVolume(name)] }
}

function isTokenVolume(volume: Json): boolean {
  return (
    stringAt(volume, 'name').startsWith(VOLUME_PREFIX) &&
    arrayAt(volume, 'projected', 'sources').some(
      (source) => valueAt(source, 'serviceAccountToken') !== undefined,
    )
  )
}

function withMounts(container: Json, name: string): Json {
  if (!isJsonObject(container)) return container
  const free = freePaths(container)
  if (free.length === 0) return container
  const added = free.map((mountPath) => ({ name, readOnly: true, mountPath }))
  return { ...container, volumeMounts: [...arrayAt(container, 'volumeMounts'), ...added] }
}

/** The paths of tokens at which a container mounts nothing itself; none where that cannot be read. */
function freePaths(container: Json): readonly string[] {
  if (!isJsonObject(container)) return []
  const mounts = valueAt(container, 'volumeMounts')
  if (mounts !== undefined && !Array.isArray(mounts)) return []
  const used = arrayAt(container, 'volumeMounts').map((mount) =>
    posix.join('/', stringAt(mount, 'mountPath'), '.'),
  )
  return TOKEN_PATHS.filter((path) => !used.includes(path))
}

function tokenVolume(name: string): JsonObject {
  const namespace = { apiVersion: 'v1', fieldPath: 'metadata.namespace' }
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: namespace }] } },
      ],
    },
  }
}
