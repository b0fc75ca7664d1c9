import { hash } from 'node:crypto'
import { parseDocument } from 'yaml'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
  stringsAt,
} from '../../lib/json.ts'
import {
  CLEAN_UP_LABEL,
  MADE_BY,
  MADE_BY_LABEL,
  NAMESPACE,
  NODE_PROXY_BY_LABEL,
  type Proxy,
  placementPatch,
} from './placement.ts'

const POD_SPEC = ['spec', 'template', 'spec']

/** A Pod that removes the rules of a proxy from a node, with the image of its DaemonSet, and ends. */
export function cleanUpPod(of: Proxy, node: string, daemonSet: JsonObject): JsonObject {
  const container = proxyContainer(daemonSet)
  const isNodeProxy = of === 'node-proxy'
  const tmp: JsonObject[] = isNodeProxy ? [{ name: 'tmp', mountPath: '/tmp' }] : []
  const memory = { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } }
  const lock = { path: '/run/xtables.lock', type: 'FileOrCreate' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: cleanUpName(of, node),
      namespace: NAMESPACE,
      labels: { [CLEAN_UP_LABEL]: of, [MADE_BY_LABEL]: MADE_BY },
    },
    spec: {
      nodeName: node,
      restartPolicy: 'OnFailure',
      priorityClassName: 'system-node-critical',
      hostNetwork: true,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: arrayAt(daemonSet, ...POD_SPEC, 'imagePullSecrets'),
      containers: [
        {
          name: 'clean-up',
          image: stringAt(container, 'image'),
          imagePullPolicy: 'IfNotPresent',
          ...(isNodeProxy ? { args: ['--cleanup'] } : { command: kubeProxyCommand(container) }),
          securityContext: { privileged: true, readOnlyRootFilesystem: isNodeProxy },
          volumeMounts: [
            { name: 'modules', mountPath: '/lib/modules', readOnly: true },
            { name: 'xtables-lock', mountPath: '/run/xtables.lock' },
            ...tmp,
          ],
        },
      ],
      volumes: [
        { name: 'modules', hostPath: { path: '/lib/modules' } },
        { name: 'xtables-lock', hostPath: lock },
        ...(isNodeProxy ? [memory] : []),
      ],
    },
  }
}

/** What kube-proxy's configuration says that node-proxy must have, too. */
export interface AdoptedSettings {
  readonly clusterCidr: string
  /** Replaces the images of the manifest; undefined: they stay. */
  readonly image: string | undefined
}

/** Objects of node-proxy's manifests as they are created here. The DaemonSet comes to labelled nodes only. */
export function adapted(object: JsonObject, settings: AdoptedSettings): JsonObject {
  const made = mergePatch(object, { metadata: { labels: { [MADE_BY_LABEL]: MADE_BY } } })
  if (!isJsonObject(made)) return object
  switch (stringAt(object, 'kind')) {
    case 'ConfigMap':
      return withClusterCidr(made, settings.clusterCidr)
    case 'DaemonSet':
      return withPlacement(settings.image === undefined ? made : withImage(made, settings.image))
    default:
      return made
  }
}

/** The container of the proxy in its DaemonSet. */
export function proxyContainer(daemonSet: JsonObject): Json | undefined {
  const containers = arrayAt(daemonSet, ...POD_SPEC, 'containers')
  const name = stringAt(daemonSet, 'metadata', 'name')
  return containers.find((one) => stringAt(one, 'name') === name) ?? containers[0]
}

/** Names of nodes can be as long as those of Pods. */
function cleanUpName(of: Proxy, node: string): string {
  return `clean-up-${of}-${hash('sha256', node, 'hex').slice(0, 12)}`
}

function kubeProxyCommand(container: Json | undefined): string[] {
  const [program = ''] = stringsAt(container, 'command')
  return [/(?:^|\/)kube-proxy$/.test(program) ? program : 'kube-proxy', '--cleanup']
}

function withClusterCidr(configMap: JsonObject, clusterCidr: string): JsonObject {
  const text = stringAt(configMap, 'data', 'config.yaml')
  if (text === '') return configMap
  const document = parseDocument(text)
  if (clusterCidr === '') document.delete('clusterCIDR')
  else document.set('clusterCIDR', clusterCidr)
  const data = { ...objectAt(configMap, 'data'), 'config.yaml': document.toString() }
  return { ...configMap, data }
}

function withPlacement(daemonSet: JsonObject): JsonObject {
  const { spec } = placementPatch(daemonSet, NODE_PROXY_BY_LABEL)
  const placed = mergePatch(daemonSet, { spec: spec ?? {} })
  return isJsonObject(placed) ? placed : daemonSet
}

function withImage(daemonSet: JsonObject, image: string): JsonObject {
  const images = (key: string): Json[] =>
    arrayAt(daemonSet, ...POD_SPEC, key).map((one) => (isJsonObject(one) ? { ...one, image } : one))
  const spec = { initContainers: images('initContainers'), containers: images('containers') }
  const changed = mergePatch(daemonSet, { spec: { template: { spec } } })
  return isJsonObject(changed) ? changed : daemonSet
}
