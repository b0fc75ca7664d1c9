import { posix } from 'node:path'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { quote } from '../../../lib/quote.ts'
import type { Random } from '../../../lib/random.ts'
import { DEFAULT_ACCOUNT, isSubdomain, NAMES } from '../../../resources/names.ts'
import { nameSuffix } from '../../resource/object-rules.ts'
import { type CompletionInput, CreationRefusal } from '../../resource/resource.ts'
import { serviceAccounts } from '../service-account/resource.ts'

/** The paths at which programs look for their token: ours and that of Kubernetes. */
const TOKEN_PATHS: readonly string[] = [
  '/var/run/secrets/kubernetes.io/serviceaccount',
  '/var/run/secrets/orch.io/serviceaccount',
]
const VOLUME_PREFIX = 'kube-api-access-'
/** One hour; the extra seven seconds are how Kubernetes recognizes such tokens. */
const TOKEN_SECONDS = 3607

/** The fields of volume sources that name a Secret, as paths to the name. */
const NAMES_IN_VOLUMES: readonly (readonly [field: string, ...below: string[]])[] = [
  ['secretName'],
  ['secretRef', 'name'],
  ['nodePublishSecretRef', 'name'],
]
const CONTAINERS = [
  ['initContainers', 'init container'],
  ['containers', 'container'],
  ['ephemeralContainers', 'ephemeral container'],
] as const

/** The texts that Go's ParseBool reads as false, and the empty text. */
const FALSE: readonly string[] = ['', '0', 'f', 'F', 'false', 'False', 'FALSE']

/**
 * A new Pod, completed with the name, token and pull secrets of its account. It is refused if the account is
 * missing, or does not permit a Secret that the Pod uses (plugin/pkg/admission/serviceaccount in Kubernetes).
 * Fields of wrong types are left to validation, which rejects them.
 */
export function completePod(input: CompletionInput, pod: JsonObject): JsonObject | CreationRefusal {
  const spec = pod['spec']
  if (!isJsonObject(spec)) return pod
  if (isMirror(pod)) {
    const fault = mirrorFault(spec)
    return fault === undefined ? pod : new CreationRefusal(fault)
  }
  const name = valueAt(spec, 'serviceAccountName') || DEFAULT_ACCOUNT
  if (typeof name !== 'string' || !isSubdomain(name)) return pod
  const account = input.objects.get(serviceAccounts, input.namespace, name)
  if (account === undefined) return missingAccount(input.namespace, name)
  const fault = forbiddenSecret(spec, account)
  if (fault !== undefined) return new CreationRefusal(fault)
  const named = { ...spec, serviceAccount: name, serviceAccountName: name }
  const pulling = withPullSecrets(named, account)
  const mounts = mountsToken(pulling, account)
  return { ...pod, spec: mounts ? withTokenVolume(pulling, input.random) : pulling }
}

function missingAccount(namespace: string, name: string): CreationRefusal {
  const isExpected = name === DEFAULT_ACCOUNT
  return new CreationRefusal(
    `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
    { resource: serviceAccounts, namespace, name, isExpected },
  )
}

/** Whether a token is mounted: the Pod decides, else its account; the default is true. */
function mountsToken(spec: JsonObject, account: JsonObject): boolean {
  const decision =
    valueAt(spec, 'automountServiceAccountToken') ??
    valueAt(account, 'automountServiceAccountToken')
  return decision !== false
}

/** Adds the account's pull secrets, unless the Pod lists its own. */
function withPullSecrets(spec: JsonObject, account: JsonObject): JsonObject {
  const ofAccount = arrayAt(account, 'imagePullSecrets')
  const own = valueAt(spec, 'imagePullSecrets') ?? []
  const isEmpty = Array.isArray(own) && own.length === 0
  return isEmpty && ofAccount.length > 0 ? { ...spec, imagePullSecrets: ofAccount } : spec
}

/**
 * Whether a Pod is a mirror of one that its node runs from a file; the server cannot change the content of that
 * one.
 */
function isMirror(pod: JsonObject): boolean {
  const annotations = objectAt(pod, 'metadata', 'annotations')
  return NAMES.mirror.some((name) => valueAt(annotations, name) !== undefined)
}

/**
 * Why a mirror Pod may not exist; undefined: it may. Its node runs it without permission of the API server, so
 * it gets neither accounts nor Secrets.
 */
function mirrorFault(spec: JsonObject): string | undefined {
  const account = stringAt(spec, 'serviceAccountName') || stringAt(spec, 'serviceAccount')
  if (account !== '') return 'a mirror pod may not reference service accounts'
  const usesSecret =
    !secretReferences(spec).next().done || arrayAt(spec, 'imagePullSecrets').length > 0
  if (usesSecret) return 'a mirror pod may not reference secrets'
  const hasToken = arrayAt(spec, 'volumes').some((volume) =>
    arrayAt(volume, 'projected', 'sources').some(
      (source) => valueAt(source, 'serviceAccountToken') !== undefined,
    ),
  )
  return hasToken ? 'a mirror pod may not use ServiceAccountToken volume projections' : undefined
}

/**
 * Why a Pod may not use its Secrets under this account; undefined: it may. An account restricts its Pods if its
 * annotation, ours or that of Kubernetes, says so: they may then use only the Secrets that it lists. A value
 * that is not a boolean also restricts.
 */
function forbiddenSecret(spec: JsonObject, account: JsonObject): string | undefined {
  if (!isRestricted(account)) return undefined
  const who = `service account ${stringAt(account, 'metadata', 'name')}`
  const permitted = namesIn(account, 'secrets')
  for (const { name, text } of secretReferences(spec)) {
    if (permitted.has(name)) continue
    return `${text} is not allowed because ${who} does not reference that secret`
  }
  const pullSecrets = namesIn(account, 'imagePullSecrets')
  for (const [index, secret] of arrayAt(spec, 'imagePullSecrets').entries()) {
    const name = stringAt(secret, 'name')
    if (pullSecrets.has(name)) continue
    return `imagePullSecrets[${index}].name=${quote(name)} is not allowed because ${who} does not reference that imagePullSecret`
  }
  return undefined
}

function isRestricted(account: JsonObject): boolean {
  const annotations = objectAt(account, 'metadata', 'annotations')
  return NAMES.enforceMountableSecrets.some((name) => !FALSE.includes(stringAt(annotations, name)))
}

function namesIn(account: Json, field: string): ReadonlySet<string> {
  const names = arrayAt(account, field).map((one) => stringAt(one, 'name'))
  return new Set(names.filter((name) => name !== ''))
}

/** One reference to a Secret in a Pod. */
interface SecretReference {
  /** The name of the Secret; empty: the reference names none, or is malformed. */
  readonly name: string
  /** The location of the reference, for people: `container "main" with envFrom referencing secret.secretName="x"`. */
  readonly text: string
}

/** Every Secret that a Pod uses: in volumes of any type, and in variables of any container. */
function* secretReferences(spec: Json | undefined): Generator<SecretReference> {
  for (const volume of arrayAt(spec, 'volumes')) yield* ofVolume(volume)
  for (const [field, what] of CONTAINERS) {
    for (const container of arrayAt(spec, field)) yield* ofContainer(container, what)
  }
}

function* ofVolume(volume: Json): Generator<SecretReference> {
  for (const [type, source] of Object.entries(objectAt(volume))) {
    for (const [field, ...below] of NAMES_IN_VOLUMES) {
      const found = valueAt(source, field)
      if (found === undefined) continue
      const name = below.length === 0 ? found : valueAt(found, ...below)
      yield reference(`volume with ${type}.`, textOf(name))
    }
  }
  for (const source of arrayAt(volume, 'projected', 'sources')) {
    const secret = valueAt(source, 'secret')
    if (secret === undefined) continue
    yield reference('volume with projected secret.', stringAt(secret, 'name'))
  }
}

function* ofContainer(container: Json, what: string): Generator<SecretReference> {
  const named = `${what} ${quote(stringAt(container, 'name'))}`
  for (const variable of arrayAt(container, 'env')) {
    const source = valueAt(variable, 'valueFrom', 'secretKeyRef')
    if (source === undefined) continue
    const name = quote(stringAt(variable, 'name'))
    yield reference(`${named} with envVar ${name} referencing secret.`, stringAt(source, 'name'))
  }
  for (const all of arrayAt(container, 'envFrom')) {
    const source = valueAt(all, 'secretRef')
    if (source === undefined) continue
    yield reference(`${named} with envFrom referencing secret.`, stringAt(source, 'name'))
  }
}

function reference(before: string, name: string): SecretReference {
  return { name, text: `${before}secretName=${quote(name)}` }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The spec with a volume of the account's token, the certificate of the server and the namespace, mounted
 * read-only in all containers at each of the two paths where a container mounts nothing itself. If a copied Pod
 * already has such a volume, that is used.
 */
function withTokenVolume(spec: JsonObject, random: Random): JsonObject {
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

/** The token paths at which a container mounts nothing itself; empty if its mounts cannot be read. */
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
