import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { DEFAULT_ACCOUNT, NAMES } from '../../resources/names.ts'

/**
 * Whether a Pod refers to an object of its namespace, which its node may therefore read. A mirror Pod gives its node
 * no right: the node creates it, in any namespace, and it has no account.
 */
export function podNeeds(pod: JsonObject, resource: string, name: string): boolean {
  if (isMirror(pod)) return false
  const spec = valueAt(pod, 'spec')
  if (resource === 'serviceaccounts') return accountOf(pod) === name
  const names = resource === 'secrets' ? secretNames(spec) : configMapNames(spec)
  return names.includes(name)
}

/** Whether a Pod is the mirror of one that its node runs from a file. */
export function isMirror(pod: JsonObject): boolean {
  const annotations = valueAt(pod, 'metadata', 'annotations')
  return NAMES.mirror.some((name) => valueAt(annotations, name) !== undefined)
}

/** Whether a Pod refers to any object of a kind. */
export function podNeedsAny(
  pod: JsonObject,
  resource: 'secrets' | 'configmaps' | 'persistentvolumeclaims',
): boolean {
  const spec = valueAt(pod, 'spec')
  const names = {
    secrets: secretNames,
    configmaps: configMapNames,
    persistentvolumeclaims: claimNames,
  }[resource](spec)
  return names.some((name) => name !== '')
}

/** The name of the account that a Pod runs as. */
export function accountOf(pod: JsonObject | undefined): string {
  return stringAt(pod, 'spec', 'serviceAccountName') || DEFAULT_ACCOUNT
}

function secretNames(spec: Json | undefined): readonly string[] {
  return [
    ...arrayAt(spec, 'imagePullSecrets').map((one) => stringAt(one, 'name')),
    ...arrayAt(spec, 'volumes').flatMap(secretsOfVolume),
    ...sources(spec).map((one) => stringAt(one, 'secret', 'name')),
    ...ofContainers(spec, 'secretKeyRef', 'secretRef'),
  ]
}

/** The names of Secrets in a volume of any kind; empty texts where it names none. */
function secretsOfVolume(volume: Json): readonly string[] {
  return Object.values(isJsonObject(volume) ? volume : {}).flatMap((source) => [
    stringAt(source, 'secretName'),
    stringAt(source, 'secretRef', 'name'),
    stringAt(source, 'nodePublishSecretRef', 'name'),
  ])
}

function configMapNames(spec: Json | undefined): readonly string[] {
  return [
    ...sources(spec).map((one) => stringAt(one, 'configMap', 'name')),
    ...ofContainers(spec, 'configMapKeyRef', 'configMapRef'),
  ]
}

function claimNames(spec: Json | undefined): readonly string[] {
  return sources(spec).map((one) => stringAt(one, 'persistentVolumeClaim', 'claimName'))
}

/** The volumes of a Pod, and the sources of its projected volumes. */
function sources(spec: Json | undefined): readonly Json[] {
  return arrayAt(spec, 'volumes').flatMap((volume) => [
    volume,
    ...arrayAt(volume, 'projected', 'sources'),
  ])
}

function ofContainers(spec: Json | undefined, ofKey: string, ofAll: string): readonly string[] {
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) =>
    arrayAt(spec, list),
  )
  return containers.flatMap((container) => [
    ...arrayAt(container, 'env').map((one) => stringAt(one, 'valueFrom', ofKey, 'name')),
    ...arrayAt(container, 'envFrom').map((one) => stringAt(one, ofAll, 'name')),
  ])
}
