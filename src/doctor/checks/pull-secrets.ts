import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { namespaceOf } from '../evidence/objects.ts'

/** The key of each type of Secrets for registries. */
const KEYS: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson'],
  ['kubernetes.io/dockercfg', '.dockercfg'],
])
const DEFAULT_REGISTRY = 'docker.io'

/** What is wrong with the imagePullSecrets of a Pod, in a sentence; undefined: nothing that the objects show. */
export function pullSecretProblem(pod: JsonObject, evidence: ClusterEvidence): string | undefined {
  const names = arrayAt(pod, 'spec', 'imagePullSecrets').map((one) => stringAt(one, 'name'))
  if (names.length === 0 || !evidence.has('secrets')) return undefined
  const namespace = namespaceOf(pod)
  const found = names.map((name) => ({
    name,
    secret: evidence.find('secrets', `${namespace}/${name}`),
  }))
  const missing = found.filter(({ secret }) => secret === undefined)
  if (missing.length > 0) {
    return `its imagePullSecrets name ${missing.map(({ name }) => name).join(', ')}, which is not there`
  }
  const secrets = found.flatMap(({ secret }) => (secret === undefined ? [] : [secret]))
  const wrong = found.flatMap(({ name, secret = {} }) => contentProblem(name, secret))
  return wrong[0] ?? registryProblem(pod, secrets)
}

function contentProblem(name: string, secret: JsonObject): readonly string[] {
  const type = stringAt(secret, 'type')
  const key = KEYS.get(type)
  if (key === undefined) {
    return [
      `${name} of its imagePullSecrets is no Secret for registries: its type is ${type || 'Opaque'}`,
    ]
  }
  const isThere = valueAt(secret, 'data', key) !== undefined
  return isThere ? [] : [`the Secret ${name} of its imagePullSecrets has no key ${key}`]
}

/** The registries of the images of which no Secret has credentials. Secrets that could not be understood count for all. */
function registryProblem(pod: JsonObject, secrets: readonly JsonObject[]): string | undefined {
  const known = secrets.map((secret) => valueAt(secret, 'registries'))
  if (!known.every((one) => Array.isArray(one))) return undefined
  const registries = known.flat().map(scalarText)
  const images = arrayAt(pod, 'spec', 'containers').map((one) => stringAt(one, 'image'))
  const without = images
    .map(registryOf)
    .find((host) => !registries.some((one) => covers(one, host)))
  if (without === undefined) return undefined
  return `its imagePullSecrets have credentials for ${registries.join(', ') || 'no registry'}, and none for ${without}`
}

/** The registry of the name of an image, which is a host if it has a dot or a port. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return isHost ? first : DEFAULT_REGISTRY
}

/** Whether an entry of a configuration, such as `https://index.docker.io/v1/` or `*.example.com`, is for a registry. */
function covers(entry: string, host: string): boolean {
  const [own = ''] = entry.replace(/^https?:\/\//, '').split('/')
  if (host === DEFAULT_REGISTRY && own.endsWith(DEFAULT_REGISTRY)) return true
  const [wanted, labels] = [own.split('.'), host.split('.')]
  const isSame = (label: string, at: number) => label === '*' || label === labels[at]
  return wanted.length === labels.length && wanted.every(isSame)
}
