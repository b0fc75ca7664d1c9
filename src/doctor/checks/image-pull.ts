import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { isPresent, nameOf, namespaceOf } from '../evidence/objects.ts'
import { waitingContainers, waitsForImage } from './pods-not-ready.ts'

/** The key of `data` with the credentials, by the type of a Secret for registries. */
const DATA_KEYS: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson'],
  ['kubernetes.io/dockercfg', '.dockercfg'],
])
const DEFAULT_REGISTRY = 'docker.io'

/** A Pod whose image cannot be pulled, often because of its imagePullSecrets. */
export const imagePull = checkOfEach('pods', 'image-pull', (pod, evidence) => {
  if (!isPresent(pod)) return []
  const [waiting] = waitingContainers(pod).filter(waitsForImage)
  if (waiting === undefined) return []
  const namespace = namespaceOf(pod)
  const isSecretless = arrayAt(pod, 'spec', 'imagePullSecrets').length === 0
  const problem = pullSecretProblem(pod, evidence)
  const what = `pod/${nameOf(pod)} cannot pull an image`
  const messages = evidence.messagesAbout(pod, 'Failed').slice(0, 1)
  return [
    {
      symptom: 'Image pull fails',
      cause:
        problem === undefined
          ? `${what}${isSecretless ? ', and it has no imagePullSecrets' : ''}`
          : `${what}: ${problem}`,
      evidence: [`a container waits: ${waiting.reason}`, ...messages],
      remedy:
        'create the Secret (type kubernetes.io/dockerconfigjson) in the namespace of the Pod, or correct the name of the image',
      commands: [
        `orchctl -n ${namespace} get secrets`,
        `orchctl -n ${namespace} describe pod ${nameOf(pod)}`,
      ],
    },
  ]
})

/** What is wrong with the imagePullSecrets of a Pod, in a sentence; undefined: nothing that the objects show. */
function pullSecretProblem(pod: JsonObject, evidence: ClusterEvidence): string | undefined {
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
  const key = DATA_KEYS.get(type)
  if (key === undefined) {
    return [
      `${name} of its imagePullSecrets is no Secret for registries: its type is ${type || 'Opaque'}`,
    ]
  }
  const isThere = valueAt(secret, 'data', key) !== undefined
  return isThere ? [] : [`the Secret ${name} of its imagePullSecrets has no key ${key}`]
}

/**
 * The first registry without a Secret, of the images that the Pod waits for. A Secret that cannot be read counts as one for
 * every registry.
 */
function registryProblem(pod: JsonObject, secrets: readonly JsonObject[]): string | undefined {
  const known = secrets.map((secret) => valueAt(secret, 'registries'))
  if (!known.every((one) => Array.isArray(one))) return undefined
  const registries = known.flat().map(scalarText)
  const without = awaitedImages(pod)
    .map(registryOf)
    .find((host) => !registries.some((one) => covers(one, host)))
  if (without === undefined) return undefined
  return `its imagePullSecrets have credentials for ${registries.join(', ') || 'no registry'}, and none for ${without}`
}

/** The images that containers of a Pod wait for; others have been pulled, whether with a Secret or without. */
function awaitedImages(pod: JsonObject): readonly string[] {
  const waiting = new Set(
    waitingContainers(pod)
      .filter(waitsForImage)
      .map(({ name }) => name),
  )
  return ['initContainers', 'containers']
    .flatMap((list) => arrayAt(pod, 'spec', list))
    .filter((container) => waiting.has(stringAt(container, 'name')))
    .map((container) => stringAt(container, 'image'))
}

/** The registry of the name of an image, which is a host if it has a dot or a port. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return isHost ? first : DEFAULT_REGISTRY
}

/** Whether an entry of a configuration, such as `https://index.docker.io/v1/` or `*.example.com`, is for a registry. */
function covers(entry: string, host: string): boolean {
  const [own = ''] = entry.replace(/^https?:\/\//, '').split('/')
  if (host === DEFAULT_REGISTRY && `.${own}`.endsWith(`.${DEFAULT_REGISTRY}`)) return true
  const [wanted, labels] = [own.split('.'), host.split('.')]
  const isSame = (label: string, at: number) => label === '*' || label === labels[at]
  return wanted.length === labels.length && wanted.every(isSame)
}
