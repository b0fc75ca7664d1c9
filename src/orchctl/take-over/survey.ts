import { parse } from 'yaml'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  stringsAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { proxyContainer } from './objects.ts'
import type { NodeState } from './observed.ts'
import { PROXY_LABEL } from './placement.ts'

/** Why a cluster cannot be moved, or what to know before. */
export interface SurveyFinding {
  readonly isRefusal: boolean
  /** `DaemonSet kube-system/kube-proxy` */
  readonly object: string
  /** What was found, with its value. */
  readonly found: string
  readonly remedy: string
}

/** What the survey decides by. */
export interface Surveyed {
  /** `gitVersion` of the server. */
  readonly version: string
  /** Of all namespaces. */
  readonly daemonSets: readonly JsonObject[]
  /** Of the namespaces of those DaemonSets that read one of `CNI_CONFIG_MAPS`, and kube-proxy's and node-proxy's. */
  readonly configMaps: readonly JsonObject[]
  /** `default` of FelixConfiguration (Calico); undefined: there is none. */
  readonly felix: JsonObject | undefined
  readonly nodes: readonly NodeState[]
  /** Names that the user has given; undefined: the whole cluster. */
  readonly names: ReadonlySet<string> | undefined
  /** Nodes that are to move, but are not Ready. */
  readonly absent: readonly string[]
  /** Those names of nodes that do not exist or cannot move. */
  readonly unknownNodes: readonly string[]
  /** Text of node-proxy's configuration, as it is or as it will be created. */
  readonly nodeProxyConfig: string
  /** The way back does not need what only the way there needs. */
  readonly isBack: boolean
}

/** What kube-proxy's settings say. */
interface KubeProxySettings {
  readonly mode: string
  readonly clusterCidr: string
}

/** Names of ConfigMaps in which network plugins say whether they serve Services. */
export const CNI_CONFIG_MAPS = ['cilium-config', 'antrea-config']

/** The oldest server with which the move is tested. */
const OLDEST_MINOR = 20

/** Everything that speaks against the move, refusals first. */
export function survey(surveyed: Surveyed): readonly SurveyFinding[] {
  const { isBack } = surveyed
  const found = [
    ...kubeProxyFindings(surveyed),
    ...nodeFindings(surveyed),
    ...(modeOf(surveyed) === 'userspace' ? [USERSPACE] : []),
    ...(isBack ? [] : [...versionFindings(surveyed), ...modeFindings(surveyed)]),
    ...(isBack ? [] : surveyed.daemonSets.flatMap((one) => pluginFindings(one, surveyed))),
  ]
  return found.toSorted((left, right) => Number(right.isRefusal) - Number(left.isRefusal))
}

/** The settings of kube-proxy: flags of its container win over its ConfigMap. */
export function kubeProxySettings(
  daemonSet: JsonObject,
  configMaps: readonly JsonObject[],
): KubeProxySettings {
  const config = configOf(
    stringAt(named(configMaps, 'kube-system', 'kube-proxy'), 'data', 'config.conf'),
  )
  const container = proxyContainer(daemonSet)
  const flag = (name: string): string | undefined => flagOf(container, name)
  return {
    mode: flag('proxy-mode') ?? stringAt(config, 'mode'),
    clusterCidr: flag('cluster-cidr') ?? stringAt(config, 'clusterCIDR'),
  }
}

function refusal(object: string, found: string, remedy: string): SurveyFinding {
  return { isRefusal: true, object, found, remedy }
}

function kubeProxyFindings({ daemonSets }: Surveyed): readonly SurveyFinding[] {
  if (named(daemonSets, 'kube-system', 'kube-proxy') !== undefined) return []
  const found = 'does not exist: kube-proxy runs in another way, or not at all'
  const remedy =
    'switch it off where it is started, such as --disable-kube-proxy of k3s, and install node-proxy as docs/operate/install.md says'
  return [refusal('DaemonSet kube-system/kube-proxy', found, remedy)]
}

function nodeFindings(surveyed: Surveyed): readonly SurveyFinding[] {
  const { nodes, unknownNodes } = surveyed
  const unknown = unknownNodes.map((name) =>
    refusal(`Node ${name}`, 'does not exist, or is not of Linux', 'see orchctl get nodes'),
  )
  const strange = nodes.flatMap(({ name, label, served }) =>
    served === undefined
      ? [
          refusal(
            `Node ${name}`,
            `has the label ${PROXY_LABEL}=${quote(label)}`,
            'set it to kube-proxy, both or node-proxy, or remove it',
          ),
        ]
      : [],
  )
  const absent = surveyed.absent.flatMap((name) => absence(name, surveyed))
  return [...unknown, ...strange, ...absent]
}

/** A named node that is not Ready is a refusal. Where the whole cluster moves, the others can move without it. */
function absence(name: string, { names }: Surveyed): readonly SurveyFinding[] {
  const object = `Node ${name}`
  if (names === undefined) {
    const remedy = 'run the command again when it is Ready, or delete the Node'
    return [{ isRefusal: false, object, found: 'is not Ready, and is skipped', remedy }]
  }
  return [refusal(object, 'is not Ready', 'wait until it is')]
}

function versionFindings({ version }: Surveyed): readonly SurveyFinding[] {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) > 1 || Number(minor) >= OLDEST_MINOR) return []
  const object = 'the API server'
  if (Number(major) === 0) {
    const found = `has the version ${quote(version)}, which is no release`
    return [
      { isRefusal: false, object, found, remedy: `check that it is as 1.${OLDEST_MINOR} or newer` },
    ]
  }
  const remedy = `upgrade it to 1.${OLDEST_MINOR} or newer, or move by hand as docs/operate/take-over.md says`
  return [refusal(object, `has the version ${quote(version)}`, remedy)]
}

function modeFindings(surveyed: Surveyed): readonly SurveyFinding[] {
  const { daemonSets, configMaps, nodeProxyConfig } = surveyed
  const kubeProxy = named(daemonSets, 'kube-system', 'kube-proxy')
  if (kubeProxy === undefined) return []
  const old = kubeProxySettings(kubeProxy, configMaps)
  const clusterCidr = stringAt(configOf(nodeProxyConfig), 'clusterCIDR')
  return [
    ...oldModeFindings(old.mode, modeOf(surveyed)),
    ...cidrFindings(old.clusterCidr, clusterCidr),
  ]
}

/** The mode of node-proxy, as it is or will be. */
function modeOf({ daemonSets, nodeProxyConfig }: Surveyed): string {
  const nodeProxy = named(daemonSets, 'kube-system', 'node-proxy')
  const container = nodeProxy === undefined ? undefined : proxyContainer(nodeProxy)
  const flag = flagOf(container, 'proxy-mode')
  return flag ?? (stringAt(configOf(nodeProxyConfig), 'mode') || 'iptables')
}

/** A kube-proxy that starts beside it translates packets that its rules have marked already; these get no answer. */
const USERSPACE = refusal(
  'ConfigMap kube-system/node-proxy',
  'mode: userspace; new connections would wait where kube-proxy starts beside it, as on the way back',
  'set mode: iptables there, which running node-proxies take over live, and mode: userspace again when every node has moved',
)

function oldModeFindings(old: string, mode: string): readonly SurveyFinding[] {
  const object = 'ConfigMap kube-system/kube-proxy'
  const found = `mode: ${quote(old)}`
  switch (old) {
    case '':
    case 'iptables':
    case 'nftables':
      return []
    case 'ipvs':
      if (mode === 'nftables') return []
      return [
        refusal(
          object,
          `${found}, and node-proxy is to run in mode ${quote(mode)}: no test covers this way, and connections that IPVS forwards end`,
          'set mode: nftables in the ConfigMap kube-system/node-proxy, which comes before the virtual servers',
        ),
      ]
    default:
      return [
        refusal(
          object,
          `${found}: its connections pass through kube-proxy itself, and end with it`,
          'set mode: iptables there first, or move by hand as docs/operate/take-over.md says',
        ),
      ]
  }
}

/** With another range, other clients than before are masqueraded. */
function cidrFindings(old: string, own: string): readonly SurveyFinding[] {
  const sorted = (text: string): string => text.split(',').toSorted().join(',')
  if (sorted(old) === sorted(own)) return []
  const object = 'ConfigMap kube-system/node-proxy'
  const found = `clusterCIDR: ${quote(own)}, but that of kube-proxy is ${quote(old)}`
  return [refusal(object, found, 'set the same range: other clients are masqueraded otherwise')]
}

type Plugin = (daemonSet: JsonObject, surveyed: Surveyed) => string | undefined

/** Network plugins that serve Services themselves, by the DaemonSet of each: what says that it does. */
const PLUGINS: Readonly<Record<string, Plugin>> = {
  cilium: (daemonSet, { configMaps }) => {
    const value = dataOf(daemonSet, configMaps, 'cilium-config', 'kube-proxy-replacement')
    return ['true', 'strict', 'partial'].includes(value)
      ? `kube-proxy-replacement: ${quote(value)} in ConfigMap cilium-config`
      : undefined
  },
  'antrea-agent': (daemonSet, { configMaps }) => {
    const config = configOf(dataOf(daemonSet, configMaps, 'antrea-config', 'antrea-agent.conf'))
    const isAll = valueAt(config, 'antreaProxy', 'proxyAll') === true
    return isAll ? 'antreaProxy.proxyAll: true in ConfigMap antrea-config' : undefined
  },
  'calico-node': (daemonSet, { felix }) => {
    if (valueAt(felix, 'spec', 'bpfEnabled') === true) {
      return 'spec.bpfEnabled: true in FelixConfiguration default'
    }
    const isEnabled = /^(?:true|1|yes|on)$/i.test(envOf(daemonSet, 'FELIX_BPFENABLED'))
    return isEnabled ? 'FELIX_BPFENABLED is set' : undefined
  },
  'kube-router': (daemonSet) => {
    const value = flagOf(containersOf(daemonSet)[0], 'run-service-proxy') ?? 'true'
    return value === 'false' ? undefined : `--run-service-proxy=${value}`
  },
  'ovnkube-node': () => 'OVN-Kubernetes serves Services with its load balancers',
  sdn: (daemonSet) =>
    stringAt(daemonSet, 'metadata', 'namespace') === 'openshift-sdn'
      ? 'OpenShift SDN contains kube-proxy'
      : undefined,
}

function pluginFindings(daemonSet: JsonObject, surveyed: Surveyed): readonly SurveyFinding[] {
  const name = stringAt(daemonSet, 'metadata', 'name')
  const isKnown = Object.hasOwn(PLUGINS, name)
  const why = isKnown ? PLUGINS[name]?.(daemonSet, surveyed) : undefined
  if (why === undefined) return []
  const object = `DaemonSet ${stringAt(daemonSet, 'metadata', 'namespace')}/${name}`
  const remedy =
    'let the plugin leave Services to a proxy first, or keep it and do not install node-proxy'
  return [refusal(object, `serves Services itself: ${why}`, remedy)]
}

function dataOf(
  daemonSet: JsonObject,
  configMaps: readonly JsonObject[],
  name: string,
  key: string,
): string {
  const namespace = stringAt(daemonSet, 'metadata', 'namespace')
  return stringAt(named(configMaps, namespace, name), 'data', key).trim()
}

function envOf(daemonSet: JsonObject, name: string): string {
  const all = containersOf(daemonSet).flatMap((one) => arrayAt(one, 'env'))
  return stringAt(
    all.find((one) => stringAt(one, 'name') === name),
    'value',
  )
}

/** The value of the last `--name=value` or `--name value` of a container; `--name` alone is `true`. */
function flagOf(container: Json | undefined, name: string): string | undefined {
  const words = [...stringsAt(container, 'command'), ...stringsAt(container, 'args')]
  const at = words.findLastIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`))
  const word = words[at]
  if (word === undefined) return undefined
  if (word.includes('=')) return word.slice(word.indexOf('=') + 1)
  const next = words[at + 1]
  return next === undefined || next.startsWith('-') ? 'true' : next
}

function containersOf(daemonSet: JsonObject): readonly Json[] {
  return arrayAt(daemonSet, 'spec', 'template', 'spec', 'containers')
}

function named(
  objects: readonly JsonObject[],
  namespace: string,
  name: string,
): JsonObject | undefined {
  return objects.find(
    ({ metadata }) =>
      stringAt(metadata, 'namespace') === namespace && stringAt(metadata, 'name') === name,
  )
}

/** The settings of a configuration file; empty where it cannot be read. */
function configOf(text: string): JsonObject {
  try {
    const value = parse(text) as Json
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
