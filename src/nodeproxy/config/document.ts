import * as document from '../../settings/document.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './settings-table.ts'

/** The text of docs/operate/configuration.md. */
export function configurationDocument(table: NodeProxyTable = SETTINGS_TABLE): string {
  return document.configurationDocument(table, {
    source: 'src/nodeproxy/config',
    example: EXAMPLE,
    rules: RULES,
    flags: FLAGS,
    emptyValue: '`healthzBindAddress: ""`\n  serves nothing',
  })
}

const EXAMPLE = `mode: iptables
clusterCIDR: 10.244.0.0/16`

const RULES = `Rules between settings: minSyncPeriod ≤ syncPeriod; detectLocalMode BridgeInterface needs
detectLocal.bridgeInterface, InterfaceNamePrefix needs detectLocal.interfaceNamePrefix;
userspace.entry bind needs userspace.bindMap; networkPolicy.unknownPods deny needs networkPolicy.enforce auto or true;
announcement.renewDeadline ≤ 80 % of announcement.leaseDuration; announcement.renewInterval ≤ two thirds of
announcement.renewDeadline; announcement.bgp.peers needs announcement.bgp.localASN, names each address and port once, and
has each sourceAddress of the family of its address; inspection.bindAddress needs inspection.tlsCertFile and
inspection.tlsPrivateKeyFile; no two of healthzBindAddress, metricsBindAddress, inspection.pageBindAddress and
inspection.bindAddress may overlap.`

const FLAGS = `\`--healthz-port\` and \`--metrics-port\` are deprecated: they set the port of the address, 0 serves
nothing. The logging flags of kube-proxy (\`--logtostderr\`, \`--vmodule\`, …) and the others that
\`--help\` lists at its end are accepted, ignored, and named once in the log.`
